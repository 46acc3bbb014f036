// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/packages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <utime.h>

#include <filesystem>
#include <string>

#include "analyzer/symbols/package_owners.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kStatus =
    "Package: web\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.22.1-9+deb12u1\n"
    "Description: a server\n Version: 0, not a field\n\n"
    "Package: libfoo\nStatus: install ok installed\nArchitecture: amd64\nMulti-Arch: same\nVersion: 2:3.0-1\n\n"
    "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 9\n\n"
    "Package: shell\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2\n";

class PackagesTest : public testing::Test {
protected:
    void SetUp() override {
        (void)root_.write("var/lib/dpkg/status", kStatus);
        (void)root_.write("var/lib/dpkg/info/web.list", "/.\n/usr\n/usr/sbin\n/usr/sbin/web\n/usr/share/doc/web\n");
        (void)root_.write("var/lib/dpkg/info/libfoo:amd64.list", "/usr/lib/libfoo.so.3\n");
        (void)root_.write("var/lib/dpkg/info/gone.list", "/usr/bin/gone\n");
        (void)root_.write("var/lib/dpkg/info/shell.list", "/bin/shell");
    }
    UniqueFd root() { return open_file(root_ / "", O_PATH | O_DIRECTORY).value(); }
    PackageIndex index(const PackageLimits& limits = {}) { return PackageIndex::read(root().get(), limits); }

    test::TempFolder root_;
};

TEST_F(PackagesTest, OfDpkg) {
    const auto packages = index();
    EXPECT_EQ(packages.owner_of("/usr/sbin/web"), (Package{"web", "1.22.1-9+deb12u1"}));
    EXPECT_EQ(packages.owner_of("/usr/lib/libfoo.so.3"), (Package{"libfoo", "2:3.0-1"}));
    EXPECT_EQ(packages.owner_of("/usr/bin/gone"), std::nullopt);  // removed, its configuration is left
    EXPECT_EQ(packages.owner_of("/usr/share/doc/web"), std::nullopt);
    EXPECT_EQ(packages.owner_of("/usr/sbin/other"), std::nullopt);
}

TEST_F(PackagesTest, WithAMergedUsr) {
    const auto packages = index();
    EXPECT_EQ(packages.owner_of("/usr/bin/shell"), (Package{"shell", "5.2"}));
    EXPECT_EQ(packages.owner_of("/bin/shell"), (Package{"shell", "5.2"}));
    EXPECT_EQ(packages.owner_of("/sbin/web"), (Package{"web", "1.22.1-9+deb12u1"}));
}

TEST_F(PackagesTest, OfApk) {
    const test::TempFolder alpine;
    (void)alpine.write("lib/apk/db/installed",
                       "C:Q1abc\nP:musl\nV:1.2.5-r0\nA:x86_64\nF:lib\nR:ld-musl-x86_64.so.1\na:0:0:755\n\n"
                       "P:web\nV:1.26.3-r0\nF:usr\nF:usr/sbin\nR:web\n");
    const auto root = open_file(alpine / "", O_PATH | O_DIRECTORY);
    const auto packages = PackageIndex::read(root->get());
    EXPECT_EQ(packages.owner_of("/usr/sbin/web"), (Package{"web", "1.26.3-r0"}));
    EXPECT_EQ(packages.owner_of("/lib/ld-musl-x86_64.so.1"), (Package{"musl", "1.2.5-r0"}));
}

TEST_F(PackagesTest, OfARootWithoutADatabaseAreNone) {
    const test::TempFolder empty;
    const auto root = open_file(empty / "", O_PATH | O_DIRECTORY);
    const auto packages = PackageIndex::read(root->get());
    EXPECT_EQ(packages.stamp().changed, WallTime{});
    EXPECT_EQ(packages.owner_of("/usr/sbin/web"), std::nullopt);
}

TEST_F(PackagesTest, OfAHostileRootAreBoundedAndInside) {
    // Lists that are links out, FIFOs, endless or many.
    const test::TempFolder outside;
    const auto secret = outside.write("secret", "/usr/sbin/web\n");
    std::filesystem::remove(root_ / "var/lib/dpkg/info/web.list");
    root_.symlink("var/lib/dpkg/info/web.list", secret);
    std::filesystem::remove(root_ / "var/lib/dpkg/info/shell.list");
    ASSERT_EQ(::mkfifo((root_ / "var/lib/dpkg/info/shell.list").c_str(), 0600), 0);
    const auto packages = index();
    EXPECT_EQ(packages.owner_of("/usr/sbin/web"), std::nullopt);
    EXPECT_EQ(packages.owner_of("/usr/lib/libfoo.so.3"), (Package{"libfoo", "2:3.0-1"}));
    PackageLimits small;
    small.files = 0;
    EXPECT_EQ(index(small).files(), 0U);
    small = {};
    small.list_bytes = 4;
    EXPECT_EQ(index(small).files(), 0U);
    small = {};
    small.status_bytes = 10;
    EXPECT_EQ(index(small).owner_of("/usr/lib/libfoo.so.3"), std::nullopt);
    small = {};
    small.packages = 1;
    EXPECT_EQ(index(small).owner_of("/usr/lib/libfoo.so.3"), std::nullopt);
}

TEST_F(PackagesTest, NamesAreLabels) {
    (void)root_.write("var/lib/dpkg/status",
                      "Package: web\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\x01" +
                          std::string(1000, '9') + "\n");
    (void)root_.write("var/lib/dpkg/info/web.list", "/usr/sbin/web\n");
    const auto owner = index().owner_of("/usr/sbin/web");
    ASSERT_TRUE(owner);
    EXPECT_LT(owner->version.size(), 160U);
    EXPECT_EQ(owner->version.find('\x01'), std::string::npos);
}

class Here final : public FileSource {
public:
    Result<OpenedFileRef> file_of(const collector::Dso&) override { return fail(ErrorCode::kNotFound, "none"); }
    Result<void> run(std::function<void()> work) override {
        ++runs;
        if (busy) return fail(ErrorCode::kBusy, "by order");
        work();
        return {};
    }
    void release(const collector::Dso&) override {}
    int runs = 0;
    bool busy = false;
};

TEST_F(PackagesTest, AreReadAgainWhenTheyChanged) {
    Here files;
    const test::ManualClock clock;
    SymbolChild child({.program = "/nowhere"}, clock);  // dpkg needs none
    PackageOwners owners(files, child);
    OpenedFile file;
    file.root = std::make_shared<const UniqueFd>(root());
    const auto version = [&]() -> std::string {
        const auto owner = owners.owner_of(file, "/usr/sbin/web");
        if (!owner) return "busy";
        return *owner ? (*owner)->version : "none";
    };
    files.busy = true;
    EXPECT_EQ(version(), "busy");
    files.busy = false;
    EXPECT_EQ(version(), "1.22.1-9+deb12u1");
    const auto status = root_.write("var/lib/dpkg/status",
                                    "Package: web\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2\n");
    const utimbuf later{.actime = 2'000'000'000, .modtime = 2'000'000'000};
    ASSERT_EQ(::utime(status.c_str(), &later), 0);
    EXPECT_EQ(version(), "2");
    // A file found by no path is in no package.
    file.root = nullptr;
    const int before = files.runs;
    EXPECT_EQ(version(), "none");
    EXPECT_EQ(files.runs, before);
}

}  // namespace
}  // namespace perfvigil::analyzer
