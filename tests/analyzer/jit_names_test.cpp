// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/jit_names.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "analyzer/symbols/regular_file.hpp"
#include "tests/support/jit_dump_bytes.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace std::chrono_literals;
using test::JitDumpBytes;

class PathFiles final : public FileSource {
public:
    Result<OpenedFileRef> file_of(const collector::Dso& dso) override {
        return open_regular_at(dso.path, RemoteFiles::kRefuse);
    }
    Result<void> run(std::function<void()> work) override {
        work();
        return {};
    }
    void release(const collector::Dso& /*dso*/) override {}
};

class JitNamesTest : public testing::Test {
protected:
    JitNamesTest() {
        folder_.write("proc/42/status", "NSpid:\t42\t7\n");
        folder_.symlink("proc/42/root", folder_ / "container");
        folder_.write("container/tmp/x", "");
        folder_.write("host/tmp/x", "");
        options_.proc = folder_ / "proc";
        options_.host_root = folder_ / "host";
        dso_.id = collector::DsoId{1};
        dso_.kind = collector::DsoKind::kAnonymous;
        dso_.first_pid = Pid{42};
        slice(100, 200);
    }
    JitNames& names() {
        if (names_ == nullptr) names_ = std::make_unique<JitNames>(options_, files_, clock_);
        return *names_;
    }
    void slice(std::uint64_t from, std::uint64_t to) {
        from_ = from;
        to_ = to;
    }
    void as_capture() {
        options_.origin = Origin::kCapture;
        options_.capture_start = WallTime(std::chrono::seconds(::time(nullptr))) - 1h;
    }
    std::string at(std::uint64_t address) {
        names().begin_slice(monotonic_from_ns(from_), monotonic_from_ns(to_));
        const auto found = names().find(dso_, address);
        if (found) return std::string(found->name);
        return found.error() == JitNames::Missing::kUnsaid ? "unsaid" : "uncovered";
    }
    void append(const std::string& path, std::string_view text) const {
        std::ofstream(folder_ / path, std::ios::app) << text;
    }
    // The process maps this file as its marker.
    collector::Dso map_marker(const std::string& path) const {
        struct stat st{};
        EXPECT_EQ(::stat((folder_ / ("container" + path)).c_str(), &st), 0);
        folder_.write("proc/42/maps", fmt::format("7f0000000000-7f0000001000 r-xp 00000000 {:02x}:{:02x} {} {}\n",
                                                  major(st.st_dev), minor(st.st_dev), st.st_ino, path));
        collector::Dso marker;
        marker.id = collector::DsoId{2};
        marker.path = folder_ / ("container" + path);
        marker.inode = st.st_ino;
        return marker;
    }

    test::TempFolder folder_;
    test::ManualClock clock_;
    PathFiles files_;
    JitNamesOptions options_;
    collector::Dso dso_;
    std::uint64_t from_ = 0;
    std::uint64_t to_ = 0;
    std::unique_ptr<JitNames> names_;
};

TEST_F(JitNamesTest, APerfMapIsReadOnAsItGrows) {
    EXPECT_EQ(at(0x1000), "unsaid");
    folder_.write("container/tmp/perf-7.map", "1000 10 one\n2000 10 ha");
    EXPECT_EQ(at(0x1000), "unsaid");  // not looked for all the time
    clock_.advance(5s);
    EXPECT_EQ(at(0x1000), "one");
    EXPECT_EQ(at(0x2000), "uncovered");
    append("container/tmp/perf-7.map", "lf\n1000 10 again\n");
    EXPECT_EQ(at(0x1000), "one");
    clock_.advance(5s);
    EXPECT_EQ(at(0x1000), "again");  // though it had a name before
    EXPECT_EQ(at(0x2000), "half");
}

TEST_F(JitNamesTest, APerfMapWrittenAnewReplacesTheOldOne) {
    folder_.write("container/tmp/perf-7.map", "1000 10 one\n3000 10 gone\n");
    EXPECT_EQ(at(0x1000), "one");
    folder_.write("container/tmp/perf-7.map", "1000 10 uno\n4000 10 came\n");  // as long, in place
    clock_.advance(5s);
    EXPECT_EQ(at(0x1000), "uno");
    EXPECT_EQ(at(0x4000), "came");
    EXPECT_EQ(at(0x3000), "gone");  // samples of this window may be of what it named
    names().begin_window();
    EXPECT_EQ(at(0x3000), "uncovered");
    for (int i = 0; i < 20; ++i) {
        folder_.write("container/tmp/perf-7.map", fmt::format("1000 10 version{:02}\n", i));
        clock_.advance(5s);
        names().begin_window();
        EXPECT_EQ(at(0x1000), fmt::format("version{:02}", i));
    }
}

TEST_F(JitNamesTest, LooksInTheProcessesOwnTmpFirst) {
    folder_.write("host/tmp/perf-42.map", "1000 10 ours\n");
    EXPECT_EQ(at(0x1000), "ours");
    folder_.write("container/tmp/perf-42.map", "1000 10 by_outer_number\n");
    names().begin_window();
    clock_.advance(5s);
    EXPECT_EQ(at(0x1000), "by_outer_number");
    folder_.write("container/tmp/perf-7.map", "1000 10 its_own\n");
    clock_.advance(5s);
    EXPECT_EQ(at(0x1000), "its_own");
}

TEST_F(JitNamesTest, ALinkInTmpLeadsNowhereElse) {
    folder_.write("container/etc/secret", "1000 10 secret\n");
    folder_.symlink("container/tmp/perf-7.map", "../etc/secret");
    EXPECT_EQ(at(0x1000), "unsaid");
}

TEST_F(JitNamesTest, AMapOfAnotherUserIsNotBelieved) {
    const auto map = folder_.write("container/tmp/perf-7.map", "1000 10 theirs\n");
    if (::chown(map.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file away";
    EXPECT_EQ(at(0x1000), "unsaid");
    ASSERT_EQ(names().refusals().size(), 1U);
    EXPECT_NE(names().refusals()[0].find("user 12345"), std::string::npos);
}

TEST_F(JitNamesTest, AMapOlderThanItsProcessIsOfAnother) {
    const auto map = folder_.write("container/tmp/perf-7.map", "1000 10 old\n");
    std::filesystem::last_write_time(map, std::filesystem::file_time_type::clock::now() - 10s);
    // As if the process had started just now: field 22, in hundredths of a second since boot.
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    folder_.write("proc/42/stat", fmt::format("42 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 {} 0\n",
                                              now.tv_sec * ::sysconf(_SC_CLK_TCK)));
    EXPECT_EQ(at(0x1000), "unsaid");
    std::filesystem::last_write_time(map, std::filesystem::file_time_type::clock::now());
    clock_.advance(5s);
    EXPECT_EQ(at(0x1000), "old");
}

TEST_F(JitNamesTest, WhatAGoneProcessLeftIsUsedWhenItIsNotOlderThanTheCapture) {
    as_capture();
    dso_.first_pid = Pid{43};
    const auto map = folder_.write("host/tmp/perf-43.map", "1000 10 left\n");
    EXPECT_EQ(at(0x1000), "left");
    std::filesystem::last_write_time(map, std::filesystem::file_time_type::clock::now() - 2h);
    names_.reset();
    EXPECT_EQ(at(0x1000), "unsaid");
    ASSERT_EQ(names().refusals().size(), 1U);
    EXPECT_NE(names().refusals()[0].find("/tmp/perf-43.map was written before"), std::string::npos);
}

TEST_F(JitNamesTest, ACaptureOfElsewhereGetsNoNamesOfHere) {
    as_capture();
    options_.this_boot = false;
    folder_.write("container/tmp/perf-7.map", "1000 10 foreign\n");
    EXPECT_EQ(at(0x1000), "unsaid");
    collector::Dso marker;
    marker.id = collector::DsoId{2};
    marker.path = "/tmp/jit-42.dump";
    marker.inode = 1;
    EXPECT_EQ(names().dump_of(marker), nullptr);
    EXPECT_EQ(names().refusals().size(), 1U);
}

TEST_F(JitNamesTest, ADumpNamesLiveCodeByTheSlice) {
    JitDumpBytes bytes;
    bytes.load(50, 0x1000, 0x10, 1, "first").load(300, 0x1000, 0x10, 2, "second");
    folder_.write("container/app/jit-42.dump", Bytes(bytes.bytes()));
    (void)map_marker("/app/jit-42.dump");
    EXPECT_EQ(at(0x1000), "first");
    slice(300, 400);
    EXPECT_EQ(at(0x1000), "second");
    slice(200, 350);  // first was there in its middle
    EXPECT_EQ(at(0x1000), "first");
    // It grows, even when its name is gone.
    bytes.load(500, 0x1000, 0x10, 3, "third");
    folder_.write("container/app/jit-42.dump", Bytes(bytes.bytes()));
    std::filesystem::remove(folder_ / "container/app/jit-42.dump");
    clock_.advance(5s);
    slice(500, 600);
    EXPECT_EQ(at(0x1000), "third");
    EXPECT_EQ(at(0x9000), "uncovered");
}

TEST_F(JitNamesTest, OnlyTheVeryFileThatIsMappedIsADump) {
    folder_.write("container/app/jit-42.dump", Bytes(JitDumpBytes().load(50, 0x1000, 0x10, 1, "first").bytes()));
    (void)map_marker("/app/jit-42.dump");
    // Another file of that name.
    folder_.write("container/app/new", Bytes(JitDumpBytes().load(50, 0x1000, 0x10, 1, "lie").bytes()));
    std::filesystem::rename(folder_ / "container/app/new", folder_ / "container/app/jit-42.dump");
    EXPECT_EQ(at(0x1000), "unsaid");
}

TEST_F(JitNamesTest, ADumpOfACaptureIsReadWhole) {
    as_capture();
    folder_.write("container/app/jit-42.dump",
                  Bytes(JitDumpBytes().load(50, 0x1000, 0x10, 1, "first").load(60, 0x2000, 0x10, 2, "other").bytes()));
    const auto marker = map_marker("/app/jit-42.dump");
    const auto* dump = names().dump_of(marker);
    ASSERT_NE(dump, nullptr);
    ASSERT_EQ(dump->size(), 2U);
    EXPECT_EQ(names().find_in_dump(marker, dump->code_of(dump->placements()[1]).value)->name, "other");
    EXPECT_EQ(names().find_in_dump(marker, 0).error(), JitNames::Missing::kUncovered);
    EXPECT_TRUE(names().refusals().empty());
}

TEST_F(JitNamesTest, ADumpThatCannotBeUsedIsSaid) {
    as_capture();
    folder_.write("container/app/jit-42.dump", Bytes(JitDumpBytes(42, 1).bytes()));
    EXPECT_EQ(names().dump_of(map_marker("/app/jit-42.dump")), nullptr);
    folder_.write("container/app/jit-43.dump", Bytes(JitDumpBytes(42).load(1, 1, 1, 1, "x").bytes()));
    auto other = map_marker("/app/jit-43.dump");
    other.id = collector::DsoId{3};
    EXPECT_EQ(names().dump_of(other), nullptr);
    other.id = collector::DsoId{4};
    other.inode = 0;
    EXPECT_EQ(names().dump_of(other), nullptr);
    ASSERT_EQ(names().refusals().size(), 3U);
    EXPECT_NE(names().refusals()[0].find("CLOCK_MONOTONIC"), std::string::npos);
    EXPECT_NE(names().refusals()[1].find("process 42, its name says 43"), std::string::npos);
    EXPECT_NE(names().refusals()[2].find("perf inject --jit"), std::string::npos);
}

TEST_F(JitNamesTest, MemoryIsBounded) {
    options_.bytes = 1;
    folder_.write("container/tmp/perf-7.map", "1000 10 one\n");
    EXPECT_EQ(at(0x1000), "one");
    append("container/tmp/perf-7.map", "2000 10 two\n");
    clock_.advance(5s);
    EXPECT_EQ(at(0x2000), "uncovered");
    // What nobody asks for is forgotten after some windows.
    for (int i = 0; i < 5; ++i) names().begin_window();
    EXPECT_EQ(at(0x2000), "two");
}

}  // namespace
}  // namespace perfvigil::analyzer
