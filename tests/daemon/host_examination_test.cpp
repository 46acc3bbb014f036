// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host_examination.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_event_kernel.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using Entry = collector::Degraded;

class HostExaminationTest : public testing::Test {
protected:
    HostExaminationTest() {
        options.store.directory = root / "store";
        options.captures.directory = root / "captures";
        root.write("store/x", "");
        root.write("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t0\n");
        root.write("proc/kallsyms", "ffffffff81000000 T _text\n");
        root.write("proc/sys/kernel/perf_event_paranoid", "2\n");
        root.write("proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
        root.write("sys/devices/system/cpu/online", "0-1\n");
        root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        options.store.bytes = options.captures.bytes = 0;
    }
    std::vector<Entry> examine(const std::vector<Entry>& known = {}) {
        return examine_host(options, known, trials, root.path());
    }
    // A trial in which the clock writes `samples`.
    void try_a_clock(std::uint64_t samples) {
        test::ManualClock clock;
        test::FakeEventKernel kernel{clock, "/proc"};
        trials.clock = try_clock(kernel, options.recording, clock, [&](Nanoseconds length) {
            clock.advance(length);
            for (std::uint64_t i = 0; i < samples; ++i) kernel.rings.back()->write_sample(clock.monotonic());
        });
    }
    HostTrials trials;
    test::TempFolder root;
    config::Options options;
};

TEST_F(HostExaminationTest, NothingIsSaidOfAHealthyHostNorOfWhatWasNotTried) {
    for (const auto& one : examine()) {
        // The temporary folder may be on a file system in memory.
        EXPECT_EQ(one.reason, "disk") << one.detail;
    }
}

TEST_F(HostExaminationTest, IsPublishedUnderTheDoctorsReasons) {
    root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    root.write("proc/self/status", "CapEff:\t0000004000000000\n");
    const auto found = examine();
    EXPECT_THAT(found, Contains(Field(&Entry::reason, "slow_clock")));
    EXPECT_THAT(found, Contains(Field(&Entry::detail, HasSubstr("perfvigild lacks CAP_SYSLOG"))));
}

TEST_F(HostExaminationTest, AClockThatTicksIsNoNews) {
    try_a_clock(100);
    ASSERT_EQ(trials.clock.size(), 1U) << "cycles are the session's to prove";
    EXPECT_EQ(trials.clock[0].event, "cpu-clock");
    EXPECT_THAT(examine(), Not(Contains(Field(&Entry::reason, "clock_event_silent"))));
}

TEST_F(HostExaminationTest, AClockThatStandsStillIsNamed) {
    try_a_clock(0);
    EXPECT_THAT(examine(), Contains(AllOf(Field(&Entry::reason, "clock_event_silent"),
                                          Field(&Entry::detail, HasSubstr("0 of ")))));
}

TEST_F(HostExaminationTest, WhatTheSessionSaysIsNotSaidTwice) {
    root.write("proc/sys/kernel/perf_event_max_sample_rate", "50\n");
    EXPECT_THAT(examine(), Contains(Field(&Entry::reason, "rate_limited")));
    EXPECT_THAT(examine({{"rate_limited", "x", "y"}}), Not(Contains(Field(&Entry::reason, "rate_limited"))));
}

TEST_F(HostExaminationTest, ASampleThatCostsMuchIsNamed) {
    trials.sample_cost = collector::SampleCost{.value = std::chrono::microseconds(20)};
    EXPECT_THAT(examine(), Not(Contains(Field(&Entry::reason, "costly_samples"))));
    options.recording.tuning.frequency = 999;
    EXPECT_THAT(examine(),
                Contains(AllOf(Field(&Entry::reason, "costly_samples"),
                               Field(&Entry::detail, HasSubstr("20.0 µs of the kernel: 2 events at 999 Hz")))));
}

// A window in which a program without frame pointers and names ran, beside one that has code made at run time.
analyzer::Profile window() {
    analyzer::Profile profile;
    profile.duration = std::chrono::seconds(60);
    profile.events = {{.name = "cpu-clock", .unit = analyzer::WeightUnit::kNanoseconds}};
    profile.functions = {{"main", "/usr/bin/app"},
                         {"[unknown]", "/usr/bin/app", false, analyzer::UnknownReason::kNoSymbols},
                         {"[unknown]", "//anon", false, analyzer::UnknownReason::kAnonymous}};
    profile.stacks = {{{0}}, {{1}}, {{2}}};
    profile.contexts = {{.comm = "app", .unit = "", .container = ""}};
    for (std::uint32_t stack = 0; stack < 3; ++stack) {
        profile.samples.push_back(
            {.event = 0, .stack = stack, .context = 0, .idle = false, .samples = 100, .weight = 1});
    }
    profile.broken = {{"/usr/bin/app", 200, 150}, {"/usr/bin/seldom", 2, 2}};
    return profile;
}

TEST_F(HostExaminationTest, IsKeptAsItIsWhileTheDaemonRuns) {
    DegradedSet degraded;
    HostExamination examination(degraded, {}, root.path());
    const auto reasons = [&] {
        std::vector<std::string> list;
        for (const auto& one : degraded.of("host")) list.push_back(one.reason);
        return list;
    };
    options.store.directory = options.captures.directory = root / "store/x";  // a file
    examination.configure(options);
    EXPECT_THAT(reasons(), testing::ElementsAre("disk"));

    // The programs that run, by the first window.
    const MonotonicTime start{std::chrono::hours(1)};
    examination.on_window(window(), start);
    EXPECT_THAT(reasons(), testing::UnorderedElementsAre("disk", "broken_chains", "no_symbols", "no_perf_maps"));
    EXPECT_THAT(degraded.of("host"), Contains(Field(&Entry::detail, HasSubstr("end too early in app (150 of 200),"))));

    // A setting changes; it is seen five minutes later, or at once at a reload.
    root.write("proc/sys/kernel/perf_event_max_sample_rate", "50\n");
    examination.on_window({}, start + std::chrono::minutes(4));
    EXPECT_THAT(reasons(), Not(Contains("rate_limited")));
    examination.on_window({}, start + std::chrono::minutes(5));
    EXPECT_THAT(reasons(), testing::UnorderedElementsAre("disk", "rate_limited"));
    root.write("proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
    examination.configure(options);
    EXPECT_THAT(reasons(), testing::ElementsAre("disk"));
}

}  // namespace
}  // namespace perfvigil::daemon
