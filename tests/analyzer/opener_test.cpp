// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/opener.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/regular_file.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

namespace fs = std::filesystem;
using test::build_id_of;

constexpr const char* kId = "00112233";
constexpr const char* kOtherId = "44556677";

std::vector<std::byte> elf_with(const char* build_id) {
    test::ElfImageSpec spec;
    if (*build_id != '\0') spec.build_id = build_id_of(build_id);
    return test::make_elf(spec);
}

// A host made of folders: proc/PID with root, maps and ns/mnt as the kernel shows them, and roots to point to.
class Host {
public:
    Host() { fs::create_directories(folder_ / "host"); }

    [[nodiscard]] const test::TempFolder& folder() const { return folder_; }
    [[nodiscard]] OpenerOptions options() const {
        OpenerOptions made;
        made.host_root = folder_ / "host";
        made.roots.proc = folder_ / "proc";
        return made;
    }
    // Processes of one `container` share its mount namespace and root.
    void process(int pid, const std::string& container) const {
        const auto process = "proc/" + std::to_string(pid);
        fs::create_directories(folder_ / container);
        folder_.write("ns-" + container, "");
        folder_.symlink(process + "/root", folder_ / container);
        folder_.symlink(process + "/ns/mnt", folder_ / ("ns-" + container));
    }
    void end(int pid) const { fs::remove_all(folder_ / ("proc/" + std::to_string(pid))); }

private:
    test::TempFolder folder_;
};

collector::Dso dso_of(const std::string& path, const char* build_id = kId) {
    collector::Dso dso;
    dso.id = collector::DsoId{1};
    dso.path = path;
    if (*build_id != '\0') dso.build_id = build_id_of(build_id);
    return dso;
}

class OpenerTest : public testing::Test {
protected:
    Host host_;
    test::ManualClock clock_;
};

TEST_F(OpenerTest, OpensThroughTheProcessesOwnRoot) {
    host_.process(7, "c1");
    host_.folder().write("c1/usr/bin/app", elf_with(kId));
    host_.folder().write("host/usr/bin/app", elf_with(kOtherId));
    Opener opener(host_.options(), clock_);
    const auto file = opener.open_dso(dso_of("/usr/bin/app"), Pid{7});
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->build_id.hex(), kId);
    EXPECT_GT((*file)->size, 0U);
    EXPECT_EQ(opener.counters().own_root, 1U);
}

TEST_F(OpenerTest, OpensThroughAnotherProcessOfTheContainer) {
    host_.process(7, "c1");
    host_.folder().write("c1/usr/bin/first", elf_with(kOtherId));
    host_.folder().write("c1/usr/bin/app", elf_with(kId));
    Opener opener(host_.options(), clock_);
    ASSERT_TRUE(opener.open_dso(dso_of("/usr/bin/first", kOtherId), Pid{7}));
    // 8 is gone already; its container's root was kept.
    const auto file = opener.open_dso(dso_of("/usr/bin/app"), Pid{8});
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(opener.counters().other_root, 1U);
}

TEST_F(OpenerTest, LooksForNamespacesItHasNotSeen) {
    host_.process(9, "c9");
    host_.folder().write("c9/usr/bin/app", elf_with(kId));
    Opener opener(host_.options(), clock_);
    ASSERT_TRUE(opener.open_dso(dso_of("/usr/bin/app"), Pid{8}));
    EXPECT_EQ(opener.counters().other_root, 1U);

    // Once in a while only: a container that appears meanwhile has to wait.
    host_.process(10, "c10");
    host_.folder().write("c10/usr/bin/late", elf_with(kOtherId));
    EXPECT_FALSE(opener.open_dso(dso_of("/usr/bin/late", kOtherId), Pid{8}));
    clock_.advance(std::chrono::seconds(2));
    EXPECT_TRUE(opener.open_dso(dso_of("/usr/bin/late", kOtherId), Pid{8}));
}

TEST_F(OpenerTest, FallsBackToTheHostRoot) {
    host_.folder().write("host/usr/bin/app", elf_with(kId));
    Opener opener(host_.options(), clock_);
    EXPECT_TRUE(opener.open_dso(dso_of("/usr/bin/app"), Pid{8}));
    EXPECT_EQ(opener.counters().host_root, 1U);
    EXPECT_TRUE(opener.open_dso(dso_of("/usr/bin/app"), Pid{}));
}

TEST_F(OpenerTest, NeverTakesAnotherFile) {
    host_.process(7, "c1");
    host_.folder().write("c1/usr/bin/app", elf_with(kOtherId));
    Opener opener(host_.options(), clock_);
    const auto replaced = opener.open_dso(dso_of("/usr/bin/app"), Pid{7});
    ASSERT_FALSE(replaced);
    EXPECT_EQ(replaced.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(opener.counters().mismatched, 1U);

    // In roots of other containers another file of the name is to be expected.
    const auto gone = opener.open_dso(dso_of("/usr/bin/app"), Pid{8});
    ASSERT_FALSE(gone);
    EXPECT_NE(gone.error().code, ErrorCode::kInvalid);
}

TEST_F(OpenerTest, WithoutBuildIdComparesDeviceAndInode) {
    host_.process(7, "c1");
    const auto path = host_.folder().write("c1/usr/bin/app", elf_with(""));
    struct stat st{};
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
    auto dso = dso_of("/usr/bin/app", "");
    dso.inode = st.st_ino;
    dso.major = major(st.st_dev);
    dso.minor = minor(st.st_dev);
    Opener opener(host_.options(), clock_);
    EXPECT_TRUE(opener.open_dso(dso, Pid{7}));
    EXPECT_TRUE(opener.open_dso(dso, Pid{8}));
    dso.inode += 1;
    EXPECT_FALSE(opener.open_dso(dso, Pid{7}));
    dso.inode -= 1;
    dso.major += 1;
    const bool nominal = (*opener.open_dso(dso_of("/usr/bin/app", ""), Pid{7}))->device_is_nominal;
    EXPECT_EQ(opener.open_dso(dso, Pid{7}).has_value(), nominal);
}

TEST_F(OpenerTest, WithoutAnyIdentityBelievesTheProcessesOwnRootOnly) {
    host_.process(7, "c1");
    host_.folder().write("c1/usr/bin/app", elf_with(""));
    host_.folder().write("host/usr/bin/app", elf_with(""));
    Opener opener(host_.options(), clock_);
    EXPECT_TRUE(opener.open_dso(dso_of("/usr/bin/app", ""), Pid{7}));
    EXPECT_FALSE(opener.open_dso(dso_of("/usr/bin/app", ""), Pid{8}));
}

TEST_F(OpenerTest, FindsDeletedFilesThroughTheirMapping) {
    host_.process(7, "c1");
    host_.folder().write("deleted-one", elf_with(kId));
    host_.folder().write(
        "proc/7/maps",
        "55d0-55e0 r--p 00000000 fd:00 0                          [heap]\n"
        "7f00aa00-7f00bb00 r-xp 00001000 fd:00 4711                       /usr/lib/gone.so (deleted)\n");
    host_.folder().symlink("proc/7/map_files/7f00aa00-7f00bb00", host_.folder() / "deleted-one");
    Opener opener(host_.options(), clock_);
    ASSERT_TRUE(opener.open_dso(dso_of("/usr/lib/gone.so (deleted)"), Pid{7}));
    ASSERT_TRUE(opener.open_dso(dso_of("/usr/lib/gone.so"), Pid{7}));
    EXPECT_EQ(opener.counters().map_files, 2U);
    auto other_inode = dso_of("/usr/lib/gone.so", kOtherId);
    other_inode.inode = 1;
    EXPECT_FALSE(opener.open_dso(other_inode, Pid{7}));
}

TEST_F(OpenerTest, FindsADeletedProgramThroughExe) {
    host_.process(7, "c1");
    host_.folder().symlink("proc/7/exe", host_.folder().write("usr/bin/app", elf_with(kId)));
    Opener opener(host_.options(), clock_);
    EXPECT_TRUE(opener.open_dso(dso_of(host_.folder() / "usr/bin/app"), Pid{7}));
    EXPECT_FALSE(opener.open_dso(dso_of("/usr/bin/other"), Pid{7}));
}

TEST_F(OpenerTest, WantsPathsOfFiles) {
    Opener opener(host_.options(), clock_);
    for (const char* path : {"", "[heap]", "relative", "//anon"}) {
        EXPECT_FALSE(opener.open_dso(dso_of(path), Pid{7})) << path;
    }
    auto anonymous = dso_of("/usr/bin/app");
    anonymous.kind = collector::DsoKind::kAnonymous;
    EXPECT_FALSE(opener.open_dso(anonymous, Pid{7}));
}

TEST_F(OpenerTest, ClosesRootsNobodyUses) {
    host_.process(7, "c1");
    host_.folder().write("c1/usr/bin/app", elf_with(kId));
    MountRoots roots(host_.options().roots, clock_);
    ASSERT_NE(roots.of_process(Pid{7}), nullptr);
    EXPECT_EQ(roots.kept().size(), 1U);
    clock_.advance(std::chrono::seconds(59));
    roots.expire();
    EXPECT_EQ(roots.kept().size(), 1U);
    clock_.advance(std::chrono::seconds(2));
    roots.expire();
    EXPECT_TRUE(roots.kept().empty());
}

TEST_F(OpenerTest, KeepsFewRootsLastUsedFirst) {
    auto options = host_.options().roots;
    options.max_open = 3;
    MountRoots roots(options, clock_);
    for (int i = 1; i <= 5; ++i) {
        host_.process(i, "c" + std::to_string(i));
        ASSERT_NE(roots.of_process(Pid{i}), nullptr);
    }
    EXPECT_EQ(roots.kept().size(), 3U);
    const auto oldest = roots.kept().back();
    roots.note_used(oldest);
    EXPECT_EQ(roots.kept().front(), oldest);
    const auto again = roots.of_process(Pid{5});
    EXPECT_EQ(again, roots.kept().front());
    EXPECT_EQ(roots.of_process(Pid{99}), nullptr);
    EXPECT_EQ(roots.of_process(Pid{0}), nullptr);
}

// --- hostile roots

class RegularFileTest : public testing::Test {
protected:
    Result<OpenedFileRef> open(const std::string& path) {
        const auto root = open_file(folder_ / "root", O_PATH | O_DIRECTORY);
        EXPECT_TRUE(root);
        return open_regular_in(root->get(), path, RemoteFiles::kRefuse);
    }
    void SetUp() override {
        folder_.write("secret", "outside");
        folder_.write("root/inside", "inside");
    }
    std::string text(const Result<OpenedFileRef>& file) {
        return file ? *read_fd((*file)->fd.get(), 1000) : file.error().message;
    }
    test::TempFolder folder_;
};

TEST_F(RegularFileTest, LinksStayInsideTheirRoot) {
    folder_.symlink("root/absolute", "/inside");
    folder_.symlink("root/dir/up", "../../../../../../inside");
    folder_.symlink("root/escape", "/../secret");
    folder_.symlink("root/escape2", folder_ / "secret");
    folder_.symlink("root/loop", "loop");
    EXPECT_EQ(text(open("/inside")), "inside");
    EXPECT_EQ(text(open("/absolute")), "inside");
    EXPECT_EQ(text(open("/dir/up")), "inside");
    EXPECT_EQ(text(open("/dir/../../../inside")), "inside");
    for (const char* path : {"/escape", "/escape2", "/../secret", "/loop", "/missing"}) {
        EXPECT_FALSE(open(path)) << path;
    }
}

TEST_F(RegularFileTest, LinksOfProcAreNotFollowed) {
    if (::access("/proc/self/exe", R_OK) != 0) GTEST_SKIP() << "no /proc";
    const auto root = open_file("/", O_PATH | O_DIRECTORY);
    ASSERT_TRUE(root);
    EXPECT_FALSE(open_regular_in(root->get(), "/proc/self/exe", RemoteFiles::kAllow));
    EXPECT_TRUE(open_regular_at("/proc/self/exe", RemoteFiles::kAllow));
}

TEST_F(RegularFileTest, FifosDevicesAndFoldersAreNeverOpened) {
    ASSERT_EQ(::mkfifo((folder_ / "root/fifo").c_str(), 0600), 0);
    EXPECT_FALSE(open("/fifo"));  // would wait for a writer forever
    EXPECT_FALSE(open("/"));
    const auto dev = open_file("/dev", O_PATH | O_DIRECTORY);
    EXPECT_TRUE(!dev || !open_regular_in(dev->get(), "/null", RemoteFiles::kAllow));
}

TEST_F(RegularFileTest, RemoteFileSystemsAreRefusedByKind) {
    // No FUSE mount can be made here; a procfs file stands for "regular and local".
    const auto proc = open_file("/proc", O_PATH | O_DIRECTORY);
    ASSERT_TRUE(proc);
    EXPECT_TRUE(open_regular_in(proc->get(), "/version", RemoteFiles::kRefuse));
    EXPECT_TRUE(is_remote_file_system(0x65735546));   // FUSE
    EXPECT_TRUE(is_remote_file_system(0x6969));       // NFS
    EXPECT_TRUE(is_remote_file_system(0xff534d42));   // CIFS
    EXPECT_FALSE(is_remote_file_system(0xef53));      // ext4
    EXPECT_FALSE(is_remote_file_system(0x794c7630));  // overlayfs
    EXPECT_FALSE(is_remote_file_system(0x01021994));  // tmpfs
}

// --- what was opened

class OpenedFilesTest : public testing::Test {
protected:
    OpenedFileRef file(const char* build_id = "") {
        auto made = std::make_shared<OpenedFile>();
        if (*build_id != '\0') made->build_id = build_id_of(build_id);
        return made;
    }
    static collector::DsoId id(std::uint32_t n) { return collector::DsoId{n}; }
    test::ManualClock clock_;
};

TEST_F(OpenedFilesTest, AreFoundByDsoAndByBuildId) {
    OpenedFiles files({}, clock_);
    EXPECT_EQ(files.find(id(1)), nullptr);
    files.put(id(1), file(kId));
    files.put(id(2), fail(ErrorCode::kNotFound, "gone"));
    ASSERT_NE(files.find(id(1)), nullptr);
    EXPECT_TRUE(files.find(id(1))->has_value());
    EXPECT_FALSE(files.find(id(2))->has_value());
    EXPECT_EQ(files.find(build_id_of(kId)), **files.find(id(1)));
    EXPECT_EQ(files.find(build_id_of(kOtherId)), nullptr);
    EXPECT_EQ(files.find(BuildId{}), nullptr);
    files.forget(id(1));
    EXPECT_EQ(files.find(id(1)), nullptr);
    EXPECT_EQ(files.find(build_id_of(kId)), nullptr);
    files.forget(id(99));
}

TEST_F(OpenedFilesTest, AreBoundedLeastRecentlyUsedFirst) {
    OpenedFilesLimits limits;
    limits.files = 3;
    limits.answers = 2;
    OpenedFiles files(limits, clock_);
    for (std::uint32_t i = 1; i <= 3; ++i) files.put(id(i), file());
    (void)files.find(id(1));
    files.put(id(4), file());
    EXPECT_EQ(files.open_count(), 3U);
    EXPECT_EQ(files.evicted(), 1U);
    EXPECT_NE(files.find(id(1)), nullptr);
    EXPECT_EQ(files.find(id(2)), nullptr);
    for (std::uint32_t i = 10; i <= 14; ++i) files.put(id(i), fail(ErrorCode::kNotFound, "gone"));
    EXPECT_EQ(files.find(id(10)), nullptr);
    EXPECT_NE(files.find(id(14)), nullptr);
    EXPECT_EQ(files.open_count(), 3U);
}

TEST_F(OpenedFilesTest, AreClosedWhenNobodyAsks) {
    OpenedFiles files({}, clock_);
    files.put(id(1), file());
    files.put(id(2), file());
    clock_.advance(std::chrono::minutes(4));
    (void)files.find(id(2));
    clock_.advance(std::chrono::minutes(2));
    files.expire();
    EXPECT_EQ(files.find(id(1)), nullptr);
    EXPECT_NE(files.find(id(2)), nullptr);
}

TEST_F(OpenedFilesTest, AnAnswerMayChange) {
    OpenedFiles files({}, clock_);
    files.put(id(1), fail(ErrorCode::kNotFound, "gone"));
    files.put(id(1), file());
    EXPECT_TRUE(files.find(id(1))->has_value());
    EXPECT_EQ(files.open_count(), 1U);
}

TEST_F(OpenerTest, FileOpenerOpensOnceAndAgainWhereItFailed) {
    host_.process(7, "c1");
    host_.folder().write("c1/usr/bin/app", elf_with(kId));
    FileOpener opener(Origin::kLive, host_.options(), {}, clock_);
    const auto dso = std::make_shared<collector::Dso>(dso_of("/usr/bin/app"));
    opener.on_dso_mapped(dso, Pid{8});  // found by the walk over all processes
    opener.on_dso_mapped(dso, Pid{7});
    EXPECT_EQ(opener.counters().own_root + opener.counters().other_root, 1U);
    host_.end(7);
    EXPECT_TRUE(opener.file_of(*dso));  // it is open

    const auto late = std::make_shared<collector::Dso>(dso_of("/usr/bin/late", kOtherId));
    late->id = collector::DsoId{2};
    opener.on_dso_mapped(late, Pid{9});
    EXPECT_FALSE(opener.file_of(*late));
    host_.process(10, "c10");
    host_.folder().write("c10/usr/bin/late", elf_with(kOtherId));
    opener.on_dso_mapped(late, Pid{10});
    EXPECT_TRUE(opener.file_of(*late));
    opener.release(*late);
}

TEST_F(OpenerTest, FileOpenerOfACaptureTrustsNoPid) {
    host_.process(7, "c1");
    host_.folder().write("c1/usr/bin/app", elf_with(""));
    FileOpener opener(Origin::kCapture, host_.options(), {}, clock_);
    auto dso = dso_of("/usr/bin/app", "");
    dso.first_pid = Pid{7};
    EXPECT_FALSE(opener.file_of(dso));
}

}  // namespace
}  // namespace perfvigil::analyzer
