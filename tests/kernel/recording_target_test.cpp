// SPDX-License-Identifier: GPL-2.0-or-later
// Recording processes, threads and commands instead of whole CPUs; events that children must not inherit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "collector/blocked_child.hpp"
#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;
using namespace std::chrono_literals;

RecordingOptions clock_only() {
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.slice = 1s;
    return options;
}

std::size_t count_of(const Recorded& recorded, std::int32_t pid) {
    return static_cast<std::size_t>(std::ranges::count(recorded.samples, pid, &SeenSample::pid));
}

TEST(RecordingTarget, AProcessAloneAndItsOwnTime) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const Client other("spin", {"60", "0"});
    Client load("busy_load", {"1", "50", "3"});
    RecordingOptions options = clock_only();
    options.tuning.frequency = 999;
    options.target = Processes{{Pid{load.pid()}}};
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    record_for(**session, recorded, 10s);
    const auto took = Client::numbers(load.output());
    ASSERT_EQ(took.size(), 2U);

    EXPECT_EQ(count_of(recorded, load.pid()), recorded.samples.size());
    // What the events counted is what it used since they were opened; and that is what was sampled.
    double counted = 0;
    for (const auto& [id, reads] : recorded.reads) {
        if (reads.front().event == 0) counted += static_cast<double>(reads.back().value - reads.front().value);
    }
    EXPECT_LE(counted, 1.01 * took[0]);
    EXPECT_GE(counted, 0.7 * took[0]);
    EXPECT_NEAR(static_cast<double>(recorded.samples.size()) * 1001001, counted, 0.03 * counted);
    for (const SeenSample& sample : recorded.samples) ASSERT_NE(sample.event, UINT32_MAX);
    // It ended after 3 s, and so did the recording.
    EXPECT_FALSE((*session)->next_pump().has_value());
    EXPECT_LT(recorded.cuts.size(), 7U);
    EXPECT_EQ((*session)->host().scope, HostFacts::Scope::kTasks);
    for (const auto& [id, reads] : recorded.reads) EXPECT_FALSE(reads.front().cpu.has_value());
}

TEST(RecordingTarget, EveryThreadOfAProcess) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    std::atomic<bool> stop = false;
    std::atomic<int> running = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            ++running;
            while (!stop) {
            }
        });
    }
    while (running < 3) std::this_thread::yield();
    RecordingOptions options = clock_only();
    options.target = Processes{{Pid{::getpid()}}};
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    record_for(**session, recorded, 2s);
    stop = true;
    std::set<std::int32_t> tids;
    for (const SeenSample& sample : recorded.samples) {
        EXPECT_EQ(sample.pid, ::getpid());
        tids.insert(sample.tid);
    }
    EXPECT_GE(tids.size(), 3U);
}

TEST(RecordingTarget, ACommandFromItsFirstInstruction) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    for (const bool on_exec : {true, false}) {
        auto child = BlockedChild::fork({client_path("short_children"), "60"});
        ASSERT_TRUE(child) << child.error().message;
        RecordingOptions options = clock_only();
        options.tuning.frequency = 4999;
        options.target = Processes{{child->pid()}};
        options.start_disabled_until_exec = on_exec;
        auto session = RecordingSession::open(options, system_clock());
        ASSERT_TRUE(session) << session.error().message;
        Recorded recorded;
        bool released = false;
        record_for(**session, recorded, 20s, [&](std::chrono::nanoseconds) {
            if (std::exchange(released, true)) return;
            ASSERT_TRUE(child->release());
        });
        EXPECT_FALSE((*session)->next_pump().has_value()) << "ended with the command and its children";
        EXPECT_EQ(exit_code_of(child->wait()), 0);

        const auto exec = std::ranges::find_if(recorded.comms,
                                               [&](const auto& c) { return c.pid == child->pid().value && c.by_exec; });
        ASSERT_NE(exec, recorded.comms.end());
        EXPECT_EQ(exec->comm, "short_children");
        // Not one sample of what ran before the program did.
        const auto before =
            std::ranges::count_if(recorded.samples, [&](const SeenSample& s) { return s.time < exec->time; });
        if (on_exec)
            EXPECT_EQ(before, 0);
        else
            EXPECT_LE(before, 50) << "the child waking up and calling exec";
        // Children that it starts are its own: 60 × 2 ms.
        std::set<std::int32_t> pids;
        for (const SeenSample& sample : recorded.samples) pids.insert(sample.pid);
        EXPECT_GE(pids.size(), 50U);
        EXPECT_GE(recorded.samples.size() * 200040, 100'000'000U);
    }
}

TEST(RecordingTarget, WhatDoesNotExistIsSaid) {
    RecordingOptions options = clock_only();
    options.target = Processes{{Pid{4'000'000}}};
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().message, "process 4000000 does not exist");

    auto child = BlockedChild::fork({"no-such-program-anywhere"});
    ASSERT_TRUE(child);
    const auto released = child->release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().message, "no-such-program-anywhere: No such file or directory");
    EXPECT_EQ(exit_code_of(child->wait()), 127);
}

TEST(RecordingTarget, ChildrenOfTheRecorderInheritNoEvent) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    auto session = RecordingSession::open(clock_only(), system_clock());
    ASSERT_TRUE(session) << session.error().message;
    std::size_t events = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        if (std::filesystem::read_symlink(entry, ignored) != "anon_inode:[perf_event]") continue;
        ++events;
        EXPECT_NE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
    }
    EXPECT_EQ(events, 2 * (*session)->cpus().size());
    session->reset();
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        EXPECT_NE(std::filesystem::read_symlink(entry, ignored), "anon_inode:[perf_event]");
    }
}

}  // namespace
}  // namespace perfvigil::test
