// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/proc_snapshot.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

class Heard final : public ProcVisitor {
public:
    void on_process(Pid pid) override {
        processes.push_back(pid.value);
        if (clock != nullptr) clock->advance(std::chrono::milliseconds(1));
    }
    void on_parent(Pid pid, Pid parent) override {
        parents.push_back(std::to_string(pid.value) + " of " + std::to_string(parent.value));
    }
    void on_comm(Pid pid, Tid tid, std::string_view comm) override {
        comms.push_back(std::to_string(pid.value) + "/" + std::to_string(tid.value) + " " + std::string(comm));
    }
    void on_mapping(Pid, const ProcMapping& mapping) override { paths.emplace_back(mapping.path); }

    test::ManualClock* clock = nullptr;
    std::vector<int> processes;
    std::vector<std::string> parents;
    std::vector<std::string> comms;
    std::vector<std::string> paths;
};

void add_process(const test::TempFolder& proc, int pid, std::string_view comm, std::string_view maps) {
    const std::string folder = std::to_string(pid);
    proc.write(folder + "/comm", std::string(comm) + "\n");
    proc.write(folder + "/maps", maps);
    proc.write(folder + "/stat", folder + " (odd) 3 (name) S 4711 1 1 0 -1\n");
    proc.write(folder + "/task/" + folder + "/comm", std::string(comm) + "\n");
}

TEST(ProcSnapshot, NamesThreadsAndExecutableMappings) {
    const test::TempFolder proc;
    add_process(proc, 12, "two words\nand more",
                "00400000-00401000 r--p 00000000 fe:01 77   /usr/bin/x\n"
                "00401000-00402000 r-xp 00001000 fe:01 77   /usr/bin/x\n"
                "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
                "7ffe00000000-7ffe00001000 rw-p 00000000 00:00 0    [stack]\n"
                "7fff00000000-7fff00001000 r-xp 00000000 00:00 0    [vdso]\n");
    proc.write("12/task/13/comm", "worker\n");
    proc.write("self/comm", "not a number\n");
    const test::ManualClock clock;
    ProcSnapshot snapshot(proc.path());
    Heard heard;
    EXPECT_TRUE(snapshot.read_until(clock, MonotonicTime::max(), heard));
    EXPECT_EQ(heard.processes, std::vector<int>{12});
    EXPECT_EQ(heard.parents, std::vector<std::string>{"12 of 4711"});
    EXPECT_EQ(heard.comms, (std::vector<std::string>{"12/12 two words\nand m", "12/13 worker"}));
    EXPECT_EQ(heard.paths, (std::vector<std::string>{"/usr/bin/x", "//anon", "[vdso]"}));
    EXPECT_EQ(snapshot.unreadable(), 0U);
    ProcSnapshot with_files(proc.path(), {Pid{12}}, ProcMaps::kFiles);
    Heard more;
    EXPECT_TRUE(with_files.read_until(clock, MonotonicTime::max(), more));
    EXPECT_EQ(more.paths, (std::vector<std::string>{"/usr/bin/x", "/usr/bin/x", "//anon", "[vdso]"}));
}

TEST(ProcSnapshot, ReadsInPieces) {
    const test::TempFolder proc;
    for (int pid = 1; pid <= 5; ++pid) add_process(proc, pid, "p", "");
    test::ManualClock clock;
    Heard heard;
    heard.clock = &clock;  // a process takes a millisecond
    ProcSnapshot snapshot(proc.path());
    EXPECT_FALSE(snapshot.read_until(clock, clock.monotonic() + std::chrono::milliseconds(2), heard));
    EXPECT_EQ(heard.processes.size(), 2U);
    EXPECT_FALSE(snapshot.read_until(clock, clock.monotonic(), heard)) << "one at least, however short the time";
    EXPECT_EQ(heard.processes.size(), 3U);
    EXPECT_TRUE(snapshot.read_until(clock, MonotonicTime::max(), heard));
    EXPECT_EQ(heard.processes.size(), 5U);
    EXPECT_EQ(snapshot.processes_read(), 5U);
}

TEST(ProcSnapshot, NamedProcessesOnlyAndThoseThatHaveEnded) {
    const test::TempFolder proc;
    for (int pid = 1; pid <= 3; ++pid) add_process(proc, pid, "p", "");
    const test::ManualClock clock;
    Heard heard;
    ProcSnapshot snapshot(proc.path(), {Pid{2}, Pid{99}});
    EXPECT_TRUE(snapshot.read_until(clock, MonotonicTime::max(), heard));
    EXPECT_EQ(heard.processes, std::vector<int>{2});
}

TEST(ProcSnapshot, LongMapsAndLinesAcrossReads) {
    const test::TempFolder proc;
    std::string maps;
    const std::string path = "/" + std::string(3000, 'd') + "/lib.so";
    for (int i = 0; i < 100; ++i) maps += "00400000-00401000 r-xp 00000000 fe:01 77 " + path + std::to_string(i) + "\n";
    add_process(proc, 7, "p", maps);
    const test::ManualClock clock;
    Heard heard;
    ProcSnapshot snapshot(proc.path());
    EXPECT_TRUE(snapshot.read_until(clock, MonotonicTime::max(), heard));
    ASSERT_EQ(heard.paths.size(), 100U);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(heard.paths[static_cast<std::size_t>(i)], path + std::to_string(i));
}

TEST(ProcSnapshot, AMissingFolderIsAnEmptyHost) {
    const test::ManualClock clock;
    Heard heard;
    ProcSnapshot snapshot("/nonexistent/proc");
    EXPECT_TRUE(snapshot.done());
    EXPECT_TRUE(snapshot.read_until(clock, MonotonicTime::max(), heard));
}

TEST(TaskComm, AsTheKernelRecordsIt) {
    struct Case {
        const char* proc;
        const char* comm;
    };
    for (const Case& c : {Case{"bash", "bash"},
                          {"kworker/0:1-events", "kworker/0:1"},
                          {"kworker/u8:2+flush-254:0", "kworker/u8:2"},
                          {"kworker/0:1H-kblockd", "kworker/0:1H"},
                          {"kworker/R-mm_percpu_wq", "kworker/R-mm_pe"},
                          {"my-kworker", "my-kworker"},
                          {"0123456789abcdefgh", "0123456789abcde"},
                          {"", ""}}) {
        EXPECT_EQ(task_comm(c.proc), c.comm);
    }
}

TEST(MapsLine, Fields) {
    ProcMapping mapping;
    std::string storage;
    ASSERT_TRUE(
        parse_maps_line("7f12-7f34 r-xs 0000a000 fe:1f 4711                     /a b/c (deleted)", mapping, storage));
    EXPECT_EQ(mapping.start, 0x7f12U);
    EXPECT_EQ(mapping.end, 0x7f34U);
    EXPECT_EQ(mapping.page_offset, 0xa000U);
    EXPECT_EQ(mapping.protection, std::uint32_t{PROT_READ | PROT_EXEC});
    EXPECT_EQ(mapping.map_flags, std::uint32_t{MAP_SHARED});
    EXPECT_EQ(mapping.major, 0xfeU);
    EXPECT_EQ(mapping.minor, 0x1fU);
    EXPECT_EQ(mapping.inode, 4711U);
    EXPECT_EQ(mapping.path, "/a b/c (deleted)");
}

TEST(MapsLine, Paths) {
    struct Case {
        const char* shown;
        const char* path;
    };
    for (const Case& c : {Case{"/new\\012line", "/new\nline"},
                          {"/back\\134slash", "/back\\slash"},
                          {"/odd\\9", "/odd\\9"},
                          {"", "//anon"},
                          {"[anon:v8]", "//anon"},
                          {"[heap]", "[heap]"},
                          {"/memfd:j (deleted)", "/memfd:j (deleted)"}}) {
        ProcMapping mapping;
        std::string storage;
        const std::string line = std::string("1000-2000 rwxp 00000000 00:00 0 ") + c.shown;
        ASSERT_TRUE(parse_maps_line(line, mapping, storage));
        EXPECT_EQ(mapping.path, c.path);
    }
}

TEST(MapsLine, WhatIsNoneIsRefused) {
    for (const char* line :
         {"", "x", "1000-2000", "2000-1000 r-xp 0 0:0 0", "1000-2000 r-x 0 0:0 0", "1000-2000 r-xp z 0:0 0",
          "1000-2000 r-xp 0 00 0", "1000-2000 r-xp 0 0:0 -1", "10000000000000000-2 r-xp 0 0:0 0"}) {
        ProcMapping mapping;
        std::string storage;
        EXPECT_FALSE(parse_maps_line(line, mapping, storage)) << line;
    }
}

}  // namespace
}  // namespace perfvigil::collector
