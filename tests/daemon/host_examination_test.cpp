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

class HostExamination : public testing::Test {
protected:
    HostExamination() {
        options.store.directory = root / "store";
        options.captures.directory = root / "captures";
        root.write("store/x", "");
        root.write("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t0\n");
        root.write("proc/kallsyms", "ffffffff81000000 T _text\n");
        root.write("proc/sys/kernel/perf_event_paranoid", "2\n");
        root.write("proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
        root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        options.store.bytes = options.captures.bytes = 0;
    }
    std::vector<Entry> examine(const std::vector<Entry>& known = {}) {
        return examine_host(options, known, tried, root.path());
    }
    // A trial in which the clock writes `samples`.
    void try_a_clock(std::uint64_t samples) {
        test::ManualClock clock;
        test::FakeEventKernel kernel{clock, "/proc"};
        tried = try_clock(kernel, options.recording, clock, [&](Nanoseconds length) {
            clock.advance(length);
            for (std::uint64_t i = 0; i < samples; ++i) kernel.rings.back()->write_sample(clock.monotonic());
        });
    }
    std::vector<collector::EventProbe> tried;
    test::TempFolder root;
    config::Options options;
};

TEST_F(HostExamination, NothingIsSaidOfAHealthyHostNorOfWhatWasNotTried) {
    for (const auto& one : examine()) {
        // The temporary folder may be on a file system in memory.
        EXPECT_EQ(one.reason, "disk") << one.detail;
    }
}

TEST_F(HostExamination, IsPublishedUnderTheDoctorsReasons) {
    root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    root.write("proc/self/status", "CapEff:\t0000004000000000\n");
    const auto found = examine();
    EXPECT_THAT(found, Contains(Field(&Entry::reason, "slow_clock")));
    EXPECT_THAT(found, Contains(Field(&Entry::detail, HasSubstr("perfvigild lacks CAP_SYSLOG"))));
}

TEST_F(HostExamination, AClockThatTicksIsNoNews) {
    try_a_clock(100);
    ASSERT_EQ(tried.size(), 1U) << "cycles are the session's to prove";
    EXPECT_EQ(tried[0].event, "cpu-clock");
    EXPECT_THAT(examine(), Not(Contains(Field(&Entry::reason, "clock_event_silent"))));
}

TEST_F(HostExamination, AClockThatStandsStillIsNamed) {
    try_a_clock(0);
    EXPECT_THAT(examine(), Contains(AllOf(Field(&Entry::reason, "clock_event_silent"),
                                          Field(&Entry::detail, HasSubstr("0 of ")))));
}

TEST_F(HostExamination, WhatTheSessionSaysIsNotSaidTwice) {
    root.write("proc/sys/kernel/perf_event_max_sample_rate", "50\n");
    EXPECT_THAT(examine(), Contains(Field(&Entry::reason, "rate_limited")));
    EXPECT_THAT(examine({{"rate_limited", "x", "y"}}), Not(Contains(Field(&Entry::reason, "rate_limited"))));
}

}  // namespace
}  // namespace perfvigil::daemon
