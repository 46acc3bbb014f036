// SPDX-License-Identifier: GPL-2.0-or-later
// A database that rpm itself makes, read by the symbol child, against what rpm says of it; and damaged ones.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <random>
#include <string>

#include "analyzer/symbols/child/rpm_packages.hpp"
#include "analyzer/symbols/package_owners.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

namespace fs = std::filesystem;
constexpr const char* kRpm = "/usr/bin/rpm";
constexpr const char* kRpmbuild = "/usr/bin/rpmbuild";
constexpr const char* kDatabase = "var/lib/rpm/rpmdb.sqlite";

class Inside final : public FileSource {
public:
    Result<OpenedFileRef> file_of(const collector::Dso&) override { return fail(ErrorCode::kNotFound, "none"); }
    Result<void> run(std::function<void()> work) override {
        work();
        return {};
    }
    void release(const collector::Dso&) override {}
};

class RpmPackages : public testing::Test {
protected:
    std::optional<Package> owner_of(const std::string& path) {
        OpenedFile file;
        file.root = std::make_shared<const UniqueFd>(open_file(root_ / "", O_PATH | O_DIRECTORY).value());
        const auto owner = owners_.owner_of(file, path);
        EXPECT_TRUE(owner) << owner.error().message;
        return owner ? *owner : std::nullopt;
    }
    // A package of `files` libraries, and one program named like itself.
    void install(const std::string& name, const std::string& head, int files) {
        // Without the distribution's work on what was installed: the files are empty.
        std::string spec = "%global __os_install_post %{nil}\nName: " + name + "\n" + head;
        spec += "Summary: s\nLicense: GPL\n%description\nd\n%install\ncd %{buildroot}\nmkdir -p usr/sbin etc";
        const auto folder = [&](int i) { return fmt::format("usr/lib64/{}-with-a-long-name/{}", name, i); };
        for (int i = 0; i < 7 && files > 0; ++i) spec += ' ' + folder(i);
        std::vector<std::string> all{"usr/sbin/" + name, "etc/" + name};
        for (int i = 0; i < files; ++i) all.push_back(fmt::format("{}/a-library-of-its-own-{}.so", folder(i % 7), i));
        spec += "\ntouch";
        std::string list = "%files\n";
        for (const auto& file : all) {
            spec += ' ' + file;
            list += '/' + file + '\n';
        }
        spec += '\n';
        const auto path = work_.write(name + ".spec", spec + list);
        const auto top = "_topdir " + (work_ / "top");
        (void)test::output_of(kRpmbuild, {"-bb", "--quiet", "--target", "noarch", "--define", top, path});
        for (const auto& made : fs::recursive_directory_iterator(work_ / "top/RPMS")) {
            if (made.path().extension() != ".rpm" || !base_name(made.path().string()).starts_with(name)) continue;
            (void)test::output_of(kRpm, database({"-i", "--justdb", "--nodeps", made.path()}));
        }
    }
    std::vector<std::string> database(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"--root", root_.path().string(), "--dbpath", "/var/lib/rpm"});
        return arguments;
    }
    static bool have_rpm() { return ::access(kRpm, X_OK) == 0 && ::access(kRpmbuild, X_OK) == 0; }

    test::TempFolder root_;
    test::TempFolder work_;
    const test::ManualClock clock_;
    Inside files_;
    SymbolChild child_{{.program = test::kPerfvigilSymbols}, clock_};
    PackageOwners owners_{files_, child_};
};

TEST_F(RpmPackages, AreThoseThatRpmNames) {
    if (!have_rpm()) GTEST_SKIP() << "rpm and rpmbuild are not installed";
    install("webserver", "Epoch: 2\nVersion: 1.26.3\nRelease: 4.el9\n", 700);
    install("tool", "Version: 0~rc1\nRelease: 1\n", 0);
    ASSERT_TRUE(fs::exists(root_ / kDatabase));
    // What is executed; the rest has no owner here (packages.cpp).
    std::vector<std::string> asked;
    const auto listed = test::output_of(kRpm, database({"-qla"}));
    for (const auto line : split(listed, '\n')) {
        if (line.starts_with("/usr/sbin/") || line.ends_with(".so")) asked.emplace_back(line);
    }
    ASSERT_EQ(asked.size(), 702U);
    auto question = asked;
    question.insert(question.begin(), {"-qf", "--qf", "%{NAME} %{EVR}\\n"});
    const auto said = test::output_of(kRpm, database(question));
    const auto lines = split(said, '\n');
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto owner = owner_of(asked[i]);
        ASSERT_TRUE(owner) << asked[i];
        EXPECT_EQ(owner->name + ' ' + owner->version, lines.at(i)) << asked[i];
    }
    EXPECT_EQ(owner_of("/usr/sbin/webserver"), (Package{"webserver", "2:1.26.3-4.el9"}));
    EXPECT_EQ(owner_of("/usr/sbin/tool"), (Package{"tool", "0~rc1-1"}));
    EXPECT_EQ(owner_of("/usr/lib64/webserver-with-a-long-name/6/a-library-of-its-own-699.so"),
              (Package{"webserver", "2:1.26.3-4.el9"}));
    EXPECT_EQ(owner_of("/usr/sbin/other"), std::nullopt);
    EXPECT_TRUE(owners_.refusals().empty());
    EXPECT_EQ(child_.counters().files, 1U) << "one question for all of them";

    // Where the child may die or refuse, it must not hang, and the caller always gets an answer.
    const auto sound = read_file(root_ / kDatabase).value();
    std::mt19937 random(7);
    for (int i = 0; i < 60; ++i) {
        auto damaged = sound;
        if (i % 3 == 0) damaged.resize(random() % damaged.size());
        for (int k = 0; k < 40 && !damaged.empty(); ++k)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        const auto file = test::memory_file(std::as_bytes(std::span(damaged)));
        (void)child_.packages(file.get());
    }
    EXPECT_EQ(child_.counters().died, 0U);
    EXPECT_EQ(child_.counters().timed_out, 0U);
}

TEST_F(RpmPackages, ADatabaseOfAnotherKindIsSaid) {
    (void)root_.write("usr/lib/sysimage/rpm/Packages.db", "RpmP");
    EXPECT_EQ(owner_of("/usr/sbin/webserver"), std::nullopt);
    EXPECT_EQ(owner_of("/usr/sbin/webserver"), std::nullopt);
    ASSERT_EQ(owners_.refusals().size(), 1U);
    EXPECT_NE(owners_.refusals()[0].find("/usr/lib/sysimage/rpm/Packages.db"), std::string::npos);
    EXPECT_EQ(child_.counters().started, 0U);
}

TEST_F(RpmPackages, WhatIsNoDatabaseIsSaid) {
    (void)root_.write(kDatabase, "SQLite format 4");
    EXPECT_EQ(owner_of("/usr/sbin/webserver"), std::nullopt);
    ASSERT_EQ(owners_.refusals().size(), 1U);
    EXPECT_NE(owners_.refusals()[0].find("rpmdb.sqlite"), std::string::npos);
}

TEST_F(RpmPackages, ARootWithoutADatabaseAsksNobody) {
    EXPECT_EQ(owner_of("/usr/sbin/webserver"), std::nullopt);
    EXPECT_TRUE(owners_.refusals().empty());
    EXPECT_EQ(child_.counters().started, 0U);
}

TEST(RpmHeader, CutAnywhereOrLyingIsNoPackage) {
    std::vector<std::byte> header;
    const auto number = [&](std::uint32_t value) {
        for (int shift = 24; shift >= 0; shift -= 8) header.push_back(static_cast<std::byte>(value >> shift));
    };
    const std::string data(
        "web\0"
        "1\0"
        "2\0"
        "/usr/bin/\0"
        "web\0"
        "\0\0\0\0",
        26);
    number(6);
    number(static_cast<std::uint32_t>(data.size()));
    const std::uint32_t entries[6][4]{{1000, 6, 0, 1}, {1001, 6, 4, 1},  {1002, 6, 6, 1},
                                      {1118, 8, 8, 1}, {1117, 8, 18, 1}, {1116, 4, 22, 1}};
    for (const auto& entry : entries) {
        for (const auto word : entry) number(word);
    }
    for (const char c : data) header.push_back(static_cast<std::byte>(c));
    EXPECT_EQ(rpm_package_text(header), "P:web\nV:1-2\nF:usr/bin\nR:web\n");
    for (std::size_t size = 0; size < header.size(); ++size) {
        EXPECT_EQ(rpm_package_text(Bytes(header).first(size)), "") << size;
    }
    for (std::size_t word = 0; word < 26; ++word) {
        auto lie = header;
        for (std::size_t i = 0; i < 4; ++i) lie[word * 4 + i] = std::byte{0xff};
        EXPECT_LE(rpm_package_text(lie).size(), 64U) << word;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
