// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/processes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/allocations.hpp"

namespace perfvigil::collector {
namespace {

MonotonicTime at(std::int64_t ns) { return MonotonicTime(Nanoseconds(ns)); }

constexpr std::uint32_t kReadExec = 5;

// The records a kernel sends, in the words of the tests. Time grows by one with each.
class Processes : public testing::Test, public DsoListener {
protected:
    struct Heard {
        std::string path;
        std::int32_t pid;
        bool operator==(const Heard&) const = default;
    };

    explicit Processes(ProcessLimits limits = {}) : table_(limits, this) {}

    void on_dso_mapped(const DsoRef& dso, Pid pid) override { heard_.push_back({dso->path, pid.value}); }

    void fork(std::int32_t parent, std::int32_t child) { task(parent, parent, child, child, false, false); }
    void thread(std::int32_t pid, std::int32_t tid) { task(pid, pid, pid, tid, false, false); }
    // As a snapshot of /proc tells that `child` is there.
    void snapshot_fork(std::int32_t parent, std::int32_t child) { task(parent, parent, child, child, false, true); }
    void exit(std::int32_t pid, std::int32_t tid) { task(1, 1, pid, tid, true, false); }
    void exit(std::int32_t pid) { exit(pid, pid); }
    void task(std::int32_t parent, std::int32_t parent_tid, std::int32_t pid, std::int32_t tid, bool gone,
              bool snapshot) {
        table_.apply(TaskRecord{{}, gone, snapshot, Pid{pid}, Pid{parent}, Tid{tid}, Tid{parent_tid}, at(++now_)});
    }
    void comm(std::int32_t pid, std::int32_t tid, std::string_view name) {
        table_.apply(CommRecord{{}, Pid{pid}, Tid{tid}, false, name});
    }
    void exec(std::int32_t pid, std::string_view name) { table_.apply(CommRecord{{}, Pid{pid}, Tid{pid}, true, name}); }
    static MmapRecord mapping(std::int32_t pid, std::uint64_t start, std::uint64_t length, std::string_view path) {
        MmapRecord mmap;
        mmap.misc = kMiscUser;
        mmap.pid = Pid{pid};
        mmap.tid = Tid{pid};
        mmap.start = start;
        mmap.length = length;
        mmap.protection = kReadExec;
        mmap.map_flags = 2;
        mmap.path = path;
        return mmap;
    }
    void map(std::int32_t pid, std::uint64_t start, std::uint64_t length, std::string_view path) {
        table_.apply(mapping(pid, start, length, path));
    }
    void finish_snapshot() { table_.apply(OtherRecord{{}, kRecordFinishedInit, 0, {}}); }

    std::string path_at(std::int32_t pid, std::uint64_t address) {
        const Process* const process = table_.find(Pid{pid});
        if (process == nullptr) return "no process";
        const Mapping* const found = process->maps.find(address);
        return found == nullptr ? "" : found->dso->path;
    }
    std::string comm_of(std::int32_t pid, std::int32_t tid) { return std::string(table_.comm(Pid{pid}, Tid{tid})); }
    const Process& process(std::int32_t pid) { return table_.process(Pid{pid}); }
    bool known(std::int32_t pid) { return table_.find(Pid{pid}) != nullptr; }
    DsoRef dso_at(std::int32_t pid, std::uint64_t address) {
        const Process* const found = table_.find(Pid{pid});
        const Mapping* const mapped = found == nullptr ? nullptr : found->maps.find(address);
        return mapped == nullptr ? nullptr : mapped->dso;
    }

    std::vector<Heard> heard_;
    ProcessTable table_;
    std::int64_t now_ = 1000;
};

TEST_F(Processes, PlacedCodeWinsOverMemoryWithoutAFile) {
    map(7, 0x1000, 0x1000, "//anon");
    map(7, 0x3000, 0x1000, "/bin/app");
    map(7, 0x5000, 0x1000, "/tmp/jit-7.dump");
    const auto dump = table_.find(Pid{7})->maps.find(0x5000)->dso;
    const auto code_at = [&](std::int32_t pid, std::uint64_t address) {
        const auto* found = table_.find(Pid{pid})->code_at(address);
        return found == nullptr ? std::string("-") : found->dso->path + ' ' + std::to_string(found->offset_of(address));
    };
    table_.place_code(Pid{7}, {.start = 0x1100, .end = 0x1110, .page_offset = 200, .dso = dump});
    table_.place_code(Pid{7}, {.start = 0x3100, .end = 0x3110, .page_offset = 300, .dso = dump});
    table_.place_code(Pid{8}, {.start = 0x1100, .end = 0x1110, .page_offset = 200, .dso = dump});  // never heard of
    EXPECT_EQ(code_at(7, 0x1105), "/tmp/jit-7.dump 205");
    EXPECT_EQ(code_at(7, 0x1110), "//anon 4368");
    EXPECT_EQ(code_at(7, 0x3105), "/bin/app 261") << "a file's code is the file's";
    // Protected again, as run times do: the code is still there.
    map(7, 0x1000, 0x1000, "//anon");
    EXPECT_EQ(code_at(7, 0x1105), "/tmp/jit-7.dump 205");
    table_.place_code(Pid{7}, {.start = 0x1108, .end = 0x1120, .page_offset = 400, .dso = dump});
    EXPECT_EQ(code_at(7, 0x1107), "/tmp/jit-7.dump 207");
    EXPECT_EQ(code_at(7, 0x1108), "/tmp/jit-7.dump 400");
    fork(7, 9);
    EXPECT_EQ(code_at(9, 0x1108), "/tmp/jit-7.dump 400");
    exec(7, "other");
    map(7, 0x1000, 0x1000, "//anon");
    EXPECT_EQ(code_at(7, 0x1108), "//anon 4360");
    EXPECT_EQ(code_at(9, 0x1108), "/tmp/jit-7.dump 400");
}

TEST_F(Processes, FirstSeenByASampleIsIncomplete) {
    EXPECT_FALSE(known(100));
    EXPECT_EQ(comm_of(100, 100), "");
    EXPECT_EQ(process(100).comm, ":100");
    EXPECT_TRUE(process(100).maps_incomplete);
    EXPECT_FALSE(process(100).kernel_thread);
    EXPECT_EQ(process(-1).comm, ":-1");
    EXPECT_EQ(process(0).comm, "swapper");
    EXPECT_TRUE(process(0).kernel_thread);
    EXPECT_FALSE(process(0).maps_incomplete);
}

TEST_F(Processes, ForkCopiesTheMapsOfThatMoment) {
    comm(10, 10, "shell");
    map(10, 0x1000, 0x1000, "/bin/sh");
    fork(10, 11);
    map(10, 0x5000, 0x1000, "/lib/late.so");
    map(11, 0x9000, 0x1000, "/lib/own.so");
    EXPECT_EQ(path_at(11, 0x1800), "/bin/sh");
    EXPECT_EQ(path_at(11, 0x5800), "");
    EXPECT_EQ(path_at(11, 0x9800), "/lib/own.so");
    EXPECT_EQ(path_at(10, 0x5800), "/lib/late.so");
    EXPECT_EQ(path_at(10, 0x9800), "");
    EXPECT_EQ(process(11).comm, "shell");
    EXPECT_FALSE(process(11).maps_incomplete);
    EXPECT_NE(process(11).epoch, process(10).epoch);
}

TEST_F(Processes, ForkOfAnIncompleteOrUnknownParentIsIncomplete) {
    (void)process(10);
    fork(10, 11);
    EXPECT_TRUE(process(11).maps_incomplete);
    EXPECT_EQ(process(11).comm, ":10");
    fork(999, 12);
    EXPECT_TRUE(process(12).maps_incomplete);
    EXPECT_EQ(process(12).comm, ":12");
    EXPECT_FALSE(known(999));
}

TEST_F(Processes, ThreadsShareTheMaps) {
    comm(10, 10, "server");
    map(10, 0x1000, 0x1000, "/bin/server");
    const ProcessEpoch epoch = process(10).epoch;
    thread(10, 12);
    EXPECT_EQ(process(10).epoch, epoch);
    EXPECT_FALSE(known(12));
    EXPECT_EQ(path_at(10, 0x1800), "/bin/server");
}

TEST_F(Processes, ExecClearsTheMapsAndStartsAnEpoch) {
    map(10, 0x1000, 0x1000, "/bin/sh");
    fork(10, 11);
    const ProcessEpoch before = process(11).epoch;
    exec(11, "ls");
    EXPECT_NE(process(11).epoch, before);
    EXPECT_EQ(process(11).comm, "ls");
    EXPECT_EQ(path_at(11, 0x1800), "");
    EXPECT_EQ(path_at(10, 0x1800), "/bin/sh");
    map(11, 0x4000, 0x1000, "/bin/ls");
    EXPECT_EQ(path_at(11, 0x4800), "/bin/ls");
}

TEST_F(Processes, ExecMakesAnIncompleteProcessWhole) {
    (void)process(10);
    exec(10, "ls");
    EXPECT_FALSE(process(10).maps_incomplete);
}

TEST_F(Processes, TheProgramIsWhatWasExecuted) {
    const auto program = [&](std::int32_t pid) {
        const auto& known = process(pid).program;
        return known == nullptr ? std::string() : known->path;
    };
    fork(1, 7);
    EXPECT_EQ(program(7), "");
    exec(7, "app");
    map(7, 0x7fff0000, 0x1000, "[vdso]");
    map(7, 0x400000, 0x1000, "/bin/app");
    map(7, 0x7f0000, 0x1000, "/lib64/ld-linux-x86-64.so.2");
    map(7, 0x7e0000, 0x1000, "/lib/libc.so.6");
    EXPECT_EQ(program(7), "/bin/app");
    fork(7, 8);
    EXPECT_EQ(program(8), "/bin/app");
    // By way of the loader: "ld.so /bin/other".
    exec(8, "other");
    EXPECT_EQ(program(8), "");
    map(8, 0x7f0000, 0x1000, "/lib64/ld-linux-x86-64.so.2");
    map(8, 0x500000, 0x1000, "/bin/other");
    EXPECT_EQ(program(8), "/bin/other");
    EXPECT_EQ(program(7), "/bin/app");
}

TEST_F(Processes, RenamingIsNotExec) {
    map(10, 0x1000, 0x1000, "/bin/x");
    const ProcessEpoch epoch = process(10).epoch;
    comm(10, 10, "renamed");
    EXPECT_EQ(process(10).epoch, epoch);
    EXPECT_EQ(path_at(10, 0x1800), "/bin/x");
    EXPECT_EQ(process(10).comm, "renamed");
}

TEST_F(Processes, ThreadsHaveTheirOwnNames) {
    comm(10, 10, "server");
    thread(10, 11);
    EXPECT_EQ(comm_of(10, 11), "server") << "inherited";
    comm(10, 11, "worker");
    thread(10, 12);
    task(10, 11, 10, 13, false, false);
    comm(10, 10, "main");
    EXPECT_EQ(comm_of(10, 10), "main");
    EXPECT_EQ(comm_of(10, 11), "worker");
    EXPECT_EQ(comm_of(10, 12), "server") << "the name of the creating thread at that time";
    EXPECT_EQ(comm_of(10, 13), "worker");
    EXPECT_EQ(comm_of(10, 99), "main") << "an unknown thread goes by its process";
    EXPECT_EQ(comm_of(20, 11), "") << "a thread of another process";
    exit(10, 11);
    EXPECT_EQ(comm_of(10, 11), "main");
    EXPECT_EQ(table_.thread_count(), 2U);
}

TEST_F(Processes, AForkingThreadPassesItsNameOn) {
    comm(10, 10, "server");
    comm(10, 11, "worker");
    task(10, 11, 20, 20, false, false);
    EXPECT_EQ(process(20).comm, "worker");
}

TEST_F(Processes, ExitedProcessesStayUntilForgotten) {
    comm(10, 10, "short");
    map(10, 0x1000, 0x1000, "/bin/short");
    now_ = 5000;
    exit(10);
    ASSERT_TRUE(process(10).exited);
    EXPECT_EQ(*process(10).exited, at(5001));
    EXPECT_EQ(path_at(10, 0x1800), "/bin/short") << "samples of its last moments still come";
    table_.forget_exited_before(at(5001));
    EXPECT_TRUE(known(10));
    table_.forget_exited_before(at(5002));
    EXPECT_FALSE(known(10));
    EXPECT_EQ(table_.process_count(), 0U);
}

TEST_F(Processes, AProcessLivesAsLongAsItsLastThread) {
    comm(10, 10, "server");
    thread(10, 11);
    thread(10, 12);
    exit(10, 12);
    EXPECT_FALSE(process(10).exited) << "a thread ended";
    exit(10, 10);
    EXPECT_FALSE(process(10).exited) << "only the main thread ended";
    exit(10, 11);
    EXPECT_TRUE(process(10).exited);
    EXPECT_EQ(table_.thread_count(), 0U);
}

TEST_F(Processes, APidThatComesAgainIsAnotherProcess) {
    comm(1, 1, "init");
    map(1, 0x7000, 0x1000, "/sbin/init");
    fork(1, 10);
    exec(10, "first");
    map(10, 0x1000, 0x1000, "/bin/first");
    thread(10, 11);
    comm(10, 11, "helper");
    const ProcessEpoch first = process(10).epoch;
    exit(10, 10);  // the exit of 11 was lost
    fork(1, 10);
    EXPECT_NE(process(10).epoch, first);
    EXPECT_FALSE(process(10).exited);
    EXPECT_EQ(path_at(10, 0x1800), "");
    EXPECT_EQ(path_at(10, 0x7800), "/sbin/init");
    EXPECT_EQ(comm_of(10, 11), "init") << "a thread of the former life";
    exit(10, 10);
    EXPECT_TRUE(process(10).exited) << "threads of the former life do not keep it";
    table_.forget_exited_before(at(now_ + 1));
    exit(10, 11);
    EXPECT_FALSE(known(10));
}

TEST_F(Processes, RecordsOfAnExitedPidMeanThatTheForkWasLost) {
    comm(10, 10, "first");
    map(10, 0x1000, 0x1000, "/bin/first");
    exit(10);
    const ProcessEpoch first = process(10).epoch;
    comm(10, 10, "second");
    EXPECT_NE(process(10).epoch, first);
    EXPECT_EQ(path_at(10, 0x1800), "");
    EXPECT_FALSE(process(10).exited);

    // A thread that outlives a leader whose threads were not known.
    map(20, 0x1000, 0x1000, "/bin/threads");
    const ProcessEpoch epoch = process(20).epoch;
    exit(20);
    EXPECT_TRUE(process(20).exited);
    comm(20, 21, "survivor");
    EXPECT_FALSE(process(20).exited);
    EXPECT_EQ(process(20).epoch, epoch);
    exit(20, 21);
    EXPECT_TRUE(process(20).exited);
}

TEST_F(Processes, ThreadIdsMoveBetweenProcesses) {
    comm(10, 10, "a");
    comm(20, 20, "b");
    comm(10, 30, "old");
    comm(20, 30, "new");  // the exit of 30 in 10 was lost
    EXPECT_EQ(comm_of(20, 30), "new");
    EXPECT_EQ(comm_of(10, 30), "a");
    exit(10);
    EXPECT_TRUE(process(10).exited) << "30 is not its thread any more";
    exit(20);
    EXPECT_FALSE(process(20).exited);
    exit(20, 30);
    EXPECT_TRUE(process(20).exited);
}

TEST_F(Processes, KernelThreads) {
    snapshot_fork(0, 1);
    comm(1, 1, "systemd");
    snapshot_fork(0, 2);
    comm(2, 2, "kthreadd");
    snapshot_fork(2, 17);
    comm(17, 17, "ksoftirqd/0");
    fork(2, 50);
    fork(1, 60);
    EXPECT_FALSE(process(1).kernel_thread);
    EXPECT_TRUE(process(2).kernel_thread);
    EXPECT_TRUE(process(17).kernel_thread);
    EXPECT_TRUE(process(50).kernel_thread);
    EXPECT_FALSE(process(60).kernel_thread);
    exec(50, "modprobe");  // a user-mode helper
    EXPECT_FALSE(process(50).kernel_thread);
    comm(70, 70, "kthreadd");
    EXPECT_FALSE(process(70).kernel_thread) << "a name is not a proof";
}

TEST_F(Processes, KernelMappingsAreNotOfAProcess) {
    MmapRecord text = mapping(-1, 0xffffffff81000000, 0x1000000, "[kernel.kallsyms]_text");
    text.misc = kMiscKernel;
    table_.apply(text);
    MmapRecord module = mapping(100, 0xffffffffc0000000, 0x1000, "[ext4]");
    module.misc = kMiscKernel;
    table_.apply(module);
    MmapRecord guest = mapping(100, 0x1000, 0x1000, "/guest");
    guest.misc = kMiscGuestUser;
    table_.apply(guest);
    EXPECT_EQ(table_.process_count(), 0U);
    EXPECT_TRUE(heard_.empty());
    EXPECT_EQ(table_.kernel()->kind, DsoKind::kKernel);
    EXPECT_EQ(table_.kernel()->path, "[kernel.kallsyms]");
}

KsymbolRecord ksymbol(std::uint64_t address, std::string_view name, std::uint16_t type = 1) {
    return {.sample = {}, .address = address, .length = 0x100, .type = type, .unregister = false, .name = name};
}

TEST_F(Processes, CodeThatTheKernelMakesIsKnownWhileItIsThere) {
    constexpr std::uint64_t kPlace = 0xffffffffc0200000;
    const auto function_at = [&](std::uint64_t address) {
        const DsoRef& dso = table_.kernel_space().dso_at(address);
        return dso->path + ' ' + dso->function;
    };
    table_.apply(ksymbol(kPlace, "bpf_prog_1_first"));
    EXPECT_EQ(function_at(kPlace), "[bpf] bpf_prog_1_first");
    EXPECT_EQ(function_at(kPlace + 0xff), "[bpf] bpf_prog_1_first");
    EXPECT_EQ(function_at(kPlace + 0x100), "[kernel.kallsyms] ");
    const DsoRef first = table_.kernel_space().dso_at(kPlace);
    EXPECT_EQ(first->kind, DsoKind::kKernelCode);
    EXPECT_EQ(first->start, kPlace);
    EXPECT_EQ(first->size, 0x100U);

    const auto version = table_.kernel_space().version;
    auto gone = ksymbol(kPlace, "bpf_prog_1_first");
    gone.unregister = true;
    table_.apply(gone);
    EXPECT_NE(table_.kernel_space().version, version);
    EXPECT_EQ(function_at(kPlace), "[kernel.kallsyms] ");
    table_.apply(ksymbol(kPlace + 0x80, "bpf_prog_2_second"));
    EXPECT_EQ(function_at(kPlace + 0x80), "[bpf] bpf_prog_2_second");
    EXPECT_EQ(first->function, "bpf_prog_1_first") << "samples of before keep their name";

    constexpr std::uint16_t kOutOfLine = 2;
    table_.apply(ksymbol(kPlace + 0x1000, "ftrace_trampoline", kOutOfLine));
    table_.apply(ksymbol(kPlace + 0x2000, "kprobe_optinsn_page", kOutOfLine));
    EXPECT_EQ(function_at(kPlace + 0x1000), "[ftrace] ftrace_trampoline");
    EXPECT_EQ(function_at(kPlace + 0x2010), "[kprobes] kprobe_optinsn_page");
}

TEST_F(Processes, OnlyCodeIsMapped) {
    map(10, 0x1000, 0x3000, "/bin/x");
    MmapRecord data = mapping(10, 0x2000, 0x1000, "/bin/x");
    data.protection = 3;
    table_.apply(data);
    EXPECT_EQ(path_at(10, 0x1800), "/bin/x");
    EXPECT_EQ(path_at(10, 0x2800), "") << "data took its place";
    EXPECT_EQ(path_at(10, 0x3800), "/bin/x");
    EXPECT_EQ(table_.dso_count(), 1U);
}

TEST_F(Processes, LengthsThatOverflowEndAtTheTop) {
    map(10, ~std::uint64_t{0} - 10, ~std::uint64_t{0}, "/bin/x");
    EXPECT_EQ(path_at(10, ~std::uint64_t{0} - 1), "/bin/x");
    EXPECT_EQ(path_at(10, 0), "");
    map(10, 0x1000, 0, "/bin/empty");
    EXPECT_EQ(path_at(10, 0x1000), "");
}

TEST_F(Processes, AFileIsOneDsoForAll) {
    MmapRecord libc = mapping(10, 0x1000, 0x1000, "/lib/libc.so.6");
    libc.has_inode = true;
    libc.major = 8;
    libc.inode = 77;
    libc.inode_generation = 5;
    table_.apply(libc);
    libc.pid = Pid{20};
    table_.apply(libc);
    EXPECT_EQ(dso_at(10, 0x1000), dso_at(20, 0x1000));
    EXPECT_EQ(dso_at(10, 0x1000)->first_pid, Pid{10});
    EXPECT_EQ(dso_at(10, 0x1000)->inode, 77U);

    // Each of these is another file under the same path.
    struct Case {
        const char* what;
        void (*change)(MmapRecord&);
    };
    std::uint64_t start = 0x10000;
    std::size_t count = 1;
    for (const Case& c : {Case{"inode", [](MmapRecord& m) { m.inode = 78; }},
                          {"generation", [](MmapRecord& m) { m.inode_generation = 6; }},
                          {"major", [](MmapRecord& m) { m.major = 9; }},
                          {"minor", [](MmapRecord& m) { m.minor = 1; }},
                          {"build-id", [](MmapRecord& m) { m.build_id = *BuildId::from_hex("ab"); }},
                          {"another build-id", [](MmapRecord& m) { m.build_id = *BuildId::from_hex("ac"); }}}) {
        MmapRecord other = libc;
        c.change(other);
        other.start = start += 0x1000;
        table_.apply(other);
        EXPECT_NE(dso_at(20, start), dso_at(10, 0x1000)) << c.what;
        EXPECT_EQ(table_.dso_count(), ++count) << c.what;
        EXPECT_EQ(dso_at(20, start)->build_id, other.build_id);
    }
}

TEST_F(Processes, VdsoIsOneAndRelativeToItsStart) {
    MmapRecord vdso = mapping(10, 0x7fff00007000, 0x2000, "[vdso]");
    vdso.page_offset = 0x7fff00007000;
    table_.apply(vdso);
    vdso.pid = Pid{20};
    vdso.start = 0x7ffe00009000;
    table_.apply(vdso);
    EXPECT_EQ(dso_at(10, 0x7fff00007000), dso_at(20, 0x7ffe00009000));
    EXPECT_EQ(dso_at(10, 0x7fff00007000)->path, "[vdso]");
    EXPECT_EQ(process(20).maps.find(0x7ffe00009123)->offset_of(0x7ffe00009123), 0x123U);
}

TEST_F(Processes, TheVdsoOf32BitProcessesIsAnotherOne) {
    map(10, 0xf7fc0000, 0x2000, "[vdso]");
    map(20, 0x7fff00007000, 0x2000, "[vdso]");
    EXPECT_EQ(dso_at(10, 0xf7fc0000)->path, "[vdso32]");
    EXPECT_EQ(dso_at(10, 0xf7fc0000)->kind, DsoKind::kVdso);
    EXPECT_NE(dso_at(10, 0xf7fc0000), dso_at(20, 0x7fff00007000));
    EXPECT_EQ(process(10).maps.find(0xf7fc0123)->offset_of(0xf7fc0123), 0x123U);
}

TEST_F(Processes, CodeWithoutAFileBelongsToItsProcess) {
    map(10, 0x1000, 0x1000, "//anon");
    map(10, 0x5000, 0x1000, "/memfd:jit (deleted)");
    map(20, 0x1000, 0x1000, "//anon");
    const DsoRef ours = dso_at(10, 0x1000);
    EXPECT_EQ(ours->kind, DsoKind::kAnonymous);
    EXPECT_EQ(ours->path, "//anon");
    EXPECT_EQ(ours->first_pid, Pid{10});
    EXPECT_EQ(dso_at(10, 0x5000), ours);
    EXPECT_NE(dso_at(20, 0x1000), ours);
    EXPECT_EQ(table_.dso_count(), 0U);

    fork(10, 11);
    EXPECT_EQ(dso_at(11, 0x1000), ours) << "the parent's code, named by the parent's map";
    map(11, 0x8000, 0x1000, "//anon");
    EXPECT_EQ(dso_at(11, 0x8000)->first_pid, Pid{11});
    exec(10, "next");
    map(10, 0x1000, 0x1000, "//anon");
    EXPECT_NE(dso_at(10, 0x1000), ours) << "another image's code";
}

TEST_F(Processes, ListenerHearsOfEachDsoAndOfTheNextProcessesThatMapIt) {
    for (std::int32_t pid = 10; pid < 20; ++pid) map(pid, 0x1000, 0x1000, "/bin/x");
    EXPECT_EQ(heard_, (std::vector<Heard>{{"/bin/x", 10}, {"/bin/x", 11}, {"/bin/x", 12}, {"/bin/x", 13}}));

    heard_.clear();
    map(10, 0x5000, 0x1000, "/bin/y");
    map(10, 0x9000, 0x1000, "/bin/y");
    EXPECT_EQ(heard_, (std::vector<Heard>{{"/bin/y", 10}})) << "the same process has nothing new to offer";
    map(11, 0x5000, 0x1000, "/bin/y");
    EXPECT_EQ(heard_, (std::vector<Heard>{{"/bin/y", 10}, {"/bin/y", 11}}));

    heard_.clear();
    map(10, 0x20000, 0x1000, "//anon");
    map(10, 0x30000, 0x1000, "//anon");
    EXPECT_EQ(heard_, (std::vector<Heard>{{"//anon", 10}}));
}

TEST_F(Processes, SuspectUntilASnapshotWasApplied) {
    comm(10, 10, "a");
    map(10, 0x1000, 0x1000, "/bin/a");
    comm(2, 2, "kthreadd");
    (void)process(99);  // only ever seen in samples
    const ProcessEpoch epoch = process(10).epoch;
    table_.mark_all_suspect();
    EXPECT_TRUE(process(10).maps_incomplete);
    EXPECT_FALSE(process(2).maps_incomplete) << "it has no maps to be wrong";

    snapshot_fork(1, 10);
    comm(10, 10, "a");
    map(10, 0x1000, 0x1000, "/bin/a");
    snapshot_fork(1, 30);
    comm(30, 30, "missed");
    map(30, 0x1000, 0x1000, "/bin/missed");
    finish_snapshot();
    EXPECT_FALSE(process(10).maps_incomplete);
    EXPECT_EQ(process(10).epoch, epoch) << "the same life";
    EXPECT_EQ(path_at(10, 0x1800), "/bin/a");
    EXPECT_FALSE(process(30).maps_incomplete);
    EXPECT_EQ(process(30).comm, "missed");
    EXPECT_TRUE(process(99).maps_incomplete) << "the snapshot did not hold it";
}

TEST_F(Processes, ASnapshotReplacesSuspectMaps) {
    map(10, 0x1000, 0x1000, "/bin/kept");
    map(10, 0x5000, 0x1000, "/lib/unmapped.so");
    snapshot_fork(1, 10);
    EXPECT_EQ(path_at(10, 0x5800), "/lib/unmapped.so") << "not suspect: nothing new";
    table_.mark_all_suspect();
    snapshot_fork(1, 10);
    map(10, 0x1000, 0x1000, "/bin/kept");
    finish_snapshot();
    EXPECT_EQ(path_at(10, 0x1800), "/bin/kept");
    EXPECT_EQ(path_at(10, 0x5800), "");
}

TEST_F(Processes, AMappingOfOldDoesNotEndSuspicion) {
    comm(10, 10, "a");
    map(10, 0x1000, 0x1000, "/bin/a");
    table_.mark_all_suspect();
    map(10, 0x5000, 0x1000, "/lib/late.so");
    EXPECT_TRUE(process(10).maps_incomplete);
}

TEST_F(Processes, KnownByNameOnlyIsIncomplete) {
    comm(10, 10, "secret");  // its maps may not be read
    comm(20, 20, "open");
    map(20, 0x1000, 0x1000, "/bin/open");
    finish_snapshot();
    EXPECT_TRUE(process(10).maps_incomplete);
    EXPECT_FALSE(process(20).maps_incomplete);
    thread(30, 31);  // a thread of a process that nobody told of
    map(30, 0x1000, 0x1000, "/lib/late.so");
    EXPECT_TRUE(process(30).maps_incomplete);
}

TEST_F(Processes, CgroupsHavePaths) {
    table_.apply(CgroupRecord{{}, CgroupId{7}, "/system.slice/a.service"});
    EXPECT_EQ(table_.cgroup_path(CgroupId{7}), "/system.slice/a.service");
    EXPECT_EQ(table_.cgroup_path(CgroupId{8}), "");
    table_.apply(CgroupRecord{{}, CgroupId{7}, "/system.slice/b.service"});
    EXPECT_EQ(table_.cgroup_path(CgroupId{7}), "/system.slice/b.service");
}

TEST_F(Processes, NamesFromOutsideAreBounded) {
    const std::string endless(60000, 'x');
    comm(10, 10, endless);
    comm(10, 11, endless);
    map(10, 0x1000, 0x1000, endless);
    table_.apply(CgroupRecord{{}, CgroupId{7}, endless});
    EXPECT_EQ(process(10).comm.size(), 64U);
    EXPECT_EQ(comm_of(10, 11).size(), 64U);
    EXPECT_EQ(path_at(10, 0x1000).size(), 4096U);
    EXPECT_EQ(table_.cgroup_path(CgroupId{7}).size(), 4096U);
}

TEST_F(Processes, ForEachVisitsAll) {
    comm(10, 10, "a");
    comm(20, 20, "b");
    std::vector<std::string> names;
    table_.for_each([&](const Process& process) { names.push_back(process.comm); });
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
}

TEST_F(Processes, StormsOfForkAndExecAllocateLittle) {
    comm(1, 1, "shell");
    for (std::uint64_t i = 0; i < 30; ++i) map(1, i * 0x10000, 0x1000, "/lib/" + std::to_string(i));
    const auto life = [&](std::int32_t pid) {
        fork(1, pid);
        exec(pid, "true");
        map(pid, 0x1000, 0x1000, "/lib/1");
        map(pid, 0x8000, 0x1000, "/lib/2");
        exit(pid);
    };
    for (std::int32_t pid = 100; pid < 200; ++pid) life(pid);
    table_.forget_exited_before(at(now_ + 1));
    const std::size_t allocations = test::allocations_in([&] {
        for (std::int32_t pid = 200; pid < 300; ++pid) life(pid);
    });
    EXPECT_LE(allocations, 100U * 4) << "the process, its table and that table's room";
    table_.forget_exited_before(at(now_ + 1));
    EXPECT_EQ(table_.process_count(), 1U);
}

// --- limits ---

class BoundedProcesses : public Processes {
protected:
    BoundedProcesses()
        : Processes({.max_processes = 64,
                     .max_threads = 32,
                     .max_mappings_per_process = 8,
                     .max_cgroups = 16,
                     .max_kernel_code = 16,
                     .max_dsos = 32}) {}
};

TEST_F(BoundedProcesses, TheLongestDeadGoFirstThenTheLeastRecentlyUsed) {
    for (std::int32_t pid = 100; pid < 164; ++pid) comm(pid, pid, "x");
    exit(150);
    exit(120);
    (void)process(100);  // used just now
    comm(200, 200, "new");
    EXPECT_LE(table_.process_count(), 64U);
    EXPECT_FALSE(known(150));
    EXPECT_FALSE(known(120));
    EXPECT_TRUE(known(100));
    EXPECT_FALSE(known(101));
    EXPECT_TRUE(known(163));
    EXPECT_TRUE(known(200));
    EXPECT_EQ(table_.dropped(), 5U) << "a sixteenth and one";
}

TEST_F(BoundedProcesses, NothingGrowsUnderAStorm) {
    for (std::int32_t pid = 1000; pid < 6000; ++pid) {
        fork(999, pid);
        for (std::int32_t tid = 0; tid < 4; ++tid) comm(pid, 100000 + pid * 4 + tid, "t");
        for (std::uint64_t i = 0; i < 12; ++i)
            map(pid, i * 0x2000, 0x1000, "/bin/" + std::to_string(pid * 100 + static_cast<int>(i)));
        table_.apply(CgroupRecord{{}, CgroupId{static_cast<std::uint64_t>(pid)}, "/c"});
        ASSERT_LE(table_.process_count(), 64U);
        ASSERT_LE(table_.thread_count(), 32U);
        ASSERT_LE(process(pid).maps.mappings().size(), 8U);
        // Those that living processes map cannot be forgotten.
        ASSERT_LE(table_.dso_count(), 64U * 8 + 32);
    }
    EXPECT_GT(table_.dropped(), 0U);
    EXPECT_GT(table_.dsos_forgotten(), 30000U);
}

TEST_F(BoundedProcesses, AHeldDsoIsNotForgotten) {
    map(10, 0x1000, 0x1000, "/bin/kept");
    const DsoRef kept = dso_at(10, 0x1000);
    exec(10, "next");
    for (int i = 0; i < 500; ++i) {
        map(10, 0x1000, 0x1000, "/bin/" + std::to_string(i));
    }
    EXPECT_LE(table_.dso_count(), 33U);
    map(10, 0x1000, 0x1000, "/bin/kept");
    EXPECT_EQ(dso_at(10, 0x1000), kept);
    map(10, 0x1000, 0x1000, "/bin/0");
    EXPECT_GT(dso_at(10, 0x1000)->id, kept->id);
}

TEST_F(BoundedProcesses, CgroupsInUseOutliveTheOthers) {
    for (std::uint64_t id = 1; id < 500; ++id) {
        table_.apply(CgroupRecord{{}, CgroupId{id}, "/" + std::to_string(id)});
        EXPECT_EQ(table_.cgroup_path(CgroupId{1}), "/1");
    }
    EXPECT_EQ(table_.cgroup_path(CgroupId{499}), "/499");
    EXPECT_EQ(table_.cgroup_path(CgroupId{2}), "");
    EXPECT_GT(table_.dropped(), 400U);
}

TEST_F(BoundedProcesses, MoreKernelCodeThanTheLimitIsDroppedAndCounted) {
    for (std::uint64_t i = 0; i < 500; ++i) {
        table_.apply(KsymbolRecord{.sample = {}, .address = i * 0x1000, .length = 64, .type = 1, .name = "bpf_prog"});
    }
    // One below the limit: the next piece might cut one of them in two.
    EXPECT_EQ(table_.kernel_space().made.mappings().size(), 15U);
    EXPECT_EQ(table_.dropped(), 485U);
    // A length that runs over the top ends there.
    table_.apply(KsymbolRecord{.sample = {}, .address = ~std::uint64_t{0} - 5, .length = 64, .type = 1, .name = "x"});
}

}  // namespace
}  // namespace perfvigil::collector
