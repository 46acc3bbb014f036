// SPDX-License-Identifier: GPL-2.0-or-later
// Time in which the kernel keeps an event stopped: THROTTLE, UNTHROTTLE, and what is made of it where one is missing.
#include <gtest/gtest.h>

#include "analyzer/ledger.hpp"
#include "analyzer/slice/cpu_accounts.hpp"
#include "tests/support/slice_records.hpp"

namespace perfvigil::analyzer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kClockOnCpu0;
using test::kCyclesOnCpu0;
using test::kPeriod;

using CpuThrottling = test::SliceRecords;

TEST_F(CpuThrottling, ThrottledTimeGoesOnAcrossCuts) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    throttle(seconds(4), true);
    throttle(seconds(4) + milliseconds(1), true);  // said twice
    read(seconds(6), kClockOnCpu0, seconds(5));
    cut(seconds(6));
    throttle(seconds(7), false);
    throttle(seconds(8), false);
    throttle(seconds(9), true, kCyclesOnCpu0);
    read(seconds(11), kClockOnCpu0, seconds(10));
    cut(seconds(11), true);
    EXPECT_EQ(cpu0(0).throttled, seconds(2));
    EXPECT_EQ(cpu0(1).throttled, seconds(1));
    EXPECT_EQ(cpu0(1).cycles_throttled, Nanoseconds{}) << "no reading says until when";
    EXPECT_EQ(slice(0).totals.at(1).throttles, 2U);
    EXPECT_EQ(slice(0).totals.at(1).throttled, seconds(2));
    EXPECT_EQ(slice(1).totals.at(1).throttled, seconds(1));
    EXPECT_EQ(slice(1).totals.at(0).throttles, 1U);
}

// What throttles a clock ends with its generation and with its CPU's absence, for its UNTHROTTLE is never written then.
TEST_F(CpuThrottling, ThrottlingEndsWithItsInstance) {
    constexpr EventId kNew{11};
    constexpr EventId kAgain{12};
    read(seconds(1), kClockOnCpu0, seconds(0));
    throttle(seconds(5), true);
    read(seconds(6), kClockOnCpu0, seconds(5));
    add_instance(kNew, 1, 1, kPeriod);
    read(seconds(6), kNew, seconds(1));
    cut(seconds(6));
    throttle(seconds(10), true, kNew);
    read(seconds(11), kNew, seconds(6));
    cut(seconds(11));
    read(seconds(13), kNew, seconds(8));  // it leaves, throttled …
    add_instance(kAgain, 1, 1, kPeriod);
    read(seconds(15), kAgain, seconds(0));  // … and returns
    read(seconds(16), kAgain, seconds(1));
    cut(seconds(16));
    read(seconds(21), kAgain, seconds(6));
    cut(seconds(21), true);
    EXPECT_EQ(cpu0(0).throttled, seconds(1));
    EXPECT_EQ(cpu0(1).throttled, seconds(1));
    EXPECT_EQ(cpu0(2).throttled, seconds(2));
    EXPECT_EQ(cpu0(3).throttled, seconds(0));
}

// The record that ends it may be lost; a clock that ticks is not throttled. The sample that made it so is no such tick.
TEST_F(CpuThrottling, ATickEndsThrottlingWhoseRecordWasLost) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    throttle(seconds(2), true);
    sample(seconds(2) + std::chrono::microseconds(1));
    sample(seconds(4) + kPeriod);
    read(seconds(6), kClockOnCpu0, seconds(5));
    cut(seconds(6));
    read(seconds(11), kClockOnCpu0, seconds(10));
    cut(seconds(11), true);
    EXPECT_EQ(cpu0(0).throttled, seconds(2));
    EXPECT_EQ(cpu0(1).throttled, seconds(0));
}

// A throttled counter stands still though it is enabled and runs: for how long is kept beside what it counted.
TEST_F(CpuThrottling, CyclesAreThrottledOnTheirOwn) {
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) read(seconds(1), id, seconds(0));
    throttle(seconds(3), true, kCyclesOnCpu0);
    sample(seconds(3) + milliseconds(1), kCyclesOnCpu0, 100);  // the one too many
    throttle(seconds(4), false, kCyclesOnCpu0);
    sample(seconds(5), kCyclesOnCpu0, 100);
    throttle(seconds(5), true, kCyclesOnCpu0);
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) read(seconds(6), id, seconds(5), 4000);
    cut(seconds(6));
    throttle(seconds(8), false, kCyclesOnCpu0);
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) read(seconds(11), id, seconds(10), 8000);
    cut(seconds(11), true);
    EXPECT_EQ(cpu0(0).cycles_throttled, seconds(2));
    EXPECT_EQ(cpu0(1).cycles_throttled, seconds(2));
    EXPECT_EQ(cpu0(0).throttled, Nanoseconds{});
    EXPECT_EQ(slice(0).totals.at(0).throttled, seconds(2));
    EXPECT_EQ(slice(0).totals.at(0).throttles, 2U);
    EXPECT_EQ(cpu0(0).cycles_counted, 4000U);
    EXPECT_EQ(cpu0(0).cycles_absent, Nanoseconds{});
}

// Where the record of its end is lost a second sample shows that it has ended, at the latest.
TEST_F(CpuThrottling, ASecondSampleEndsThrottledCycles) {
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) read(seconds(1), id, seconds(0));
    throttle(seconds(2), true, kCyclesOnCpu0);
    sample(seconds(2) + milliseconds(1), kCyclesOnCpu0, 100);
    sample(seconds(4), kCyclesOnCpu0, 100);
    sample(seconds(5), kCyclesOnCpu0, 100);
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) read(seconds(6), id, seconds(5), 400);
    cut(seconds(6), true);
    EXPECT_EQ(cpu0(0).cycles_throttled, seconds(2));
}

// Records of throttling get lost with the samples: time in which ticks were lost or came was not throttled.
TEST_F(CpuThrottling, NoMoreIsThrottledThanTicksLeave) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    sample(seconds(1) + kPeriod);
    throttle(seconds(2), true);
    read(seconds(6), kClockOnCpu0, seconds(5), 0, 300);
    cut(seconds(6), true);
    EXPECT_EQ(cpu0(0).throttled, seconds(5) - 299 * kPeriod);
    const ClockLedger ledger = clock_ledger(cpu0(0));
    EXPECT_EQ(ledger.unexplained, -2 * kPeriod.count()) << "ticks are whole";
}

}  // namespace
}  // namespace perfvigil::analyzer
