// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/cpu_accounts.hpp"

#include <gtest/gtest.h>

#include "analyzer/ledger.hpp"
#include "tests/support/slice_records.hpp"

namespace perfvigil::analyzer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kClockOnCpu0;
using test::kCyclesOnCpu0;
using test::kPeriod;

using CpuAccountsTest = test::SliceRecords;

TEST_F(CpuAccountsTest, AStretchEndsAtItsReading) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    sample(seconds(2));
    sample(seconds(5));
    read(seconds(6) + milliseconds(2), kClockOnCpu0, seconds(5) + milliseconds(2));
    cut(seconds(6));
    sample(seconds(6) + milliseconds(1));
    sample(seconds(7));
    read(seconds(11), kClockOnCpu0, seconds(10));
    cut(seconds(11), true);

    ASSERT_EQ(sink().slices.size(), 2U);
    EXPECT_EQ(slice(0).start, MonotonicTime(seconds(1)));
    EXPECT_EQ(slice(0).end, MonotonicTime(seconds(6)));
    EXPECT_EQ(cpu0(0).samples, 2U);
    EXPECT_EQ(cpu0(0).enabled, seconds(5) + milliseconds(2));
    EXPECT_EQ(slice(1).start, MonotonicTime(seconds(6)));
    EXPECT_EQ(cpu0(1).samples, 2U);
    EXPECT_EQ(cpu0(1).enabled, seconds(5) - milliseconds(2));
    EXPECT_EQ(slice(0).totals.at(1).samples, 2U);
    EXPECT_EQ(slice(1).totals.at(1).weight, 2U * 10101010U);
    EXPECT_TRUE(slice(1).last);
}

// A generation that ends within a slice: its last READ is no cut, and what its successor counts is of the same slice.
TEST_F(CpuAccountsTest, AGenerationMayChangeWithinASlice) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    read(seconds(1), kCyclesOnCpu0, seconds(0));
    sample(seconds(2));
    sample(seconds(2), kCyclesOnCpu0, 700);
    read(seconds(4), kClockOnCpu0, seconds(3), 0, 5);
    read(seconds(4), kCyclesOnCpu0, seconds(3), 1000);
    constexpr EventId kFaster{11};
    constexpr EventId kFasterCycles{21};
    add_instance(kFaster, 1, 1, milliseconds(1));
    add_instance(kFasterCycles, 0, 1, {});
    read(seconds(4), kFaster, seconds(1), 0, 40);
    read(seconds(4), kFasterCycles, seconds(1), 5000);
    sample(seconds(5), kFaster);
    sample(seconds(5), kFasterCycles, 50);
    read(seconds(6), kFaster, seconds(3), 0, 42);
    read(seconds(6), kFasterCycles, seconds(3), 5600);
    cut(seconds(6), true);
    ASSERT_EQ(sink().slices.size(), 1U);
    EXPECT_EQ(cpu0(0).samples, 2U);
    EXPECT_EQ(cpu0(0).enabled, seconds(5));
    EXPECT_DOUBLE_EQ(cpu0(0).ticks_due, 3e9 / 10101010 + 2000);
    EXPECT_EQ(cpu0(0).mode_time[index_of(Mode::kUser)], kPeriod + milliseconds(1));
    EXPECT_EQ(cpu0(0).lost, 7U);
    EXPECT_EQ(cpu0(0).lost_time, 5 * kPeriod + milliseconds(2));
    EXPECT_EQ(cpu0(0).cycles_counted, 1600U);
    EXPECT_EQ(cpu0(0).cycles_sampled, 750U);
}

// A CPU that returns after the events have been replaced once: its stretch is the open slice's, of every event.
TEST_F(CpuAccountsTest, ACpuReturnsInALaterGeneration) {
    constexpr EventId kClock{11};
    constexpr EventId kCycles{21};
    constexpr EventId kClockAgain{12};
    constexpr EventId kCyclesAgain{22};
    for (const auto id : {kClock, kClockAgain}) add_instance(id, 1, 1, kPeriod);
    for (const auto id : {kCycles, kCyclesAgain}) add_instance(id, 0, 1, {});
    read(seconds(1), kClockOnCpu0, seconds(0));
    read(seconds(1), kCyclesOnCpu0, seconds(0));
    read(seconds(6), kClockOnCpu0, seconds(5));
    read(seconds(6), kCyclesOnCpu0, seconds(5), 10);
    read(seconds(6), kClock, seconds(1));
    read(seconds(6), kCycles, seconds(1), 20);
    cut(seconds(6));
    read(seconds(7), kClock, seconds(2));  // it leaves …
    read(seconds(7), kCycles, seconds(2), 120);
    read(seconds(9), kClockAgain, seconds(0));  // … and returns
    read(seconds(9), kCyclesAgain, seconds(0));
    sample(seconds(10), kClockAgain);
    sample(seconds(10), kCyclesAgain, 300);
    read(seconds(11), kClockAgain, seconds(2));
    read(seconds(11), kCyclesAgain, seconds(2), 400);
    cut(seconds(11));
    EXPECT_EQ(cpu0(1).enabled, seconds(3));
    EXPECT_EQ(cpu0(1).samples, 1U);
    EXPECT_EQ(cpu0(1).cycles_counted, 500U);
    EXPECT_EQ(cpu0(1).cycles_sampled, 300U);
}

TEST_F(CpuAccountsTest, AClockSampleWeighsItsGenerationsPeriod) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    sample(seconds(2), kClockOnCpu0, 777);  // what the record says does not count
    sample(seconds(2), kCyclesOnCpu0, 777);
    read(seconds(6), kClockOnCpu0, seconds(5));
    constexpr EventId kFaster{11};
    add_instance(kFaster, 1, 1, milliseconds(1));
    read(seconds(6), kFaster, seconds(1));
    cut(seconds(6));
    sample(seconds(7), kFaster, 777);
    read(seconds(11), kFaster, seconds(6));
    cut(seconds(11), true);
    EXPECT_EQ(slice(0).totals.at(1).weight, 10101010U);
    EXPECT_EQ(slice(0).totals.at(0).weight, 777U);
    EXPECT_EQ(slice(1).totals.at(1).weight, 1'000'000U);
    EXPECT_EQ(slice(1).totals.at(1).nominal_period, milliseconds(1));
    EXPECT_EQ(cpu0(1).enabled, seconds(5));
    EXPECT_DOUBLE_EQ(cpu0(1).ticks_due, 5000);
}

// Two generations overlap: the new one was enabled, and even read, before the old one ended. T has no time twice.
TEST_F(CpuAccountsTest, OverlappingGenerationsCountTimeOnce) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    constexpr EventId kNew{11};
    add_instance(kNew, 1, 1, kPeriod);
    read(seconds(5), kNew, seconds(0));
    read(seconds(6), kClockOnCpu0, seconds(5));
    cut(seconds(6));
    read(seconds(11), kNew, seconds(6));
    cut(seconds(11), true);
    EXPECT_EQ(cpu0(0).enabled, seconds(5));
    EXPECT_EQ(cpu0(1).enabled, seconds(5));
}

TEST_F(CpuAccountsTest, LossComesFromTheCounters) {
    read(seconds(1), kClockOnCpu0, seconds(0), 0, 100);  // before the recording
    read(seconds(1), kCyclesOnCpu0, seconds(0));
    lost(seconds(2), kClockOnCpu0, 50);  // the same loss, said less exactly
    read(seconds(6), kClockOnCpu0, seconds(5), 0, 130);
    read(seconds(6), kCyclesOnCpu0, seconds(5), 1000, 7);
    cut(seconds(6), true);
    EXPECT_EQ(slice(0).totals.at(1).lost, 30U);
    EXPECT_FALSE(slice(0).totals.at(1).lost_is_shared);
    EXPECT_EQ(cpu0(0).lost, 30U);
    EXPECT_EQ(cpu0(0).lost_time, 30 * kPeriod);
    EXPECT_EQ(slice(0).totals.at(0).lost, 7U);
    EXPECT_EQ(cpu0(0).cycles_lost, 7U);
    EXPECT_FALSE(slice(0).maps_suspect);
}

TEST_F(CpuAccountsTest, CyclesAreScaledByTheTimeTheyRan) {
    read(seconds(1), kCyclesOnCpu0, seconds(0));
    sample(seconds(2), kCyclesOnCpu0, 600);
    read(seconds(6), kCyclesOnCpu0, seconds(5), 1000, 0, milliseconds(2500));
    cut(seconds(6));
    read(seconds(11), kCyclesOnCpu0, seconds(10), 1500, 0, milliseconds(7500));
    cut(seconds(11), true);
    EXPECT_TRUE(cpu0(0).cycles_recorded);
    EXPECT_TRUE(cpu0(0).cycles_scaled);
    EXPECT_EQ(cpu0(0).cycles_counted, 2000U);
    EXPECT_EQ(cpu0(0).cycles_sampled, 600U);
    EXPECT_FALSE(cpu0(1).cycles_scaled);
    EXPECT_EQ(cpu0(1).cycles_counted, 500U);
    EXPECT_FALSE(cpu0(0).clock_recorded);
}

// A CPU whose events began late has its part of what the kernel says of the whole slice.
TEST_F(CpuAccountsTest, ProcStatOfASliceIsSharedWithItsUnrecordedPart) {
    const auto times = [](std::uint64_t user, std::uint64_t idle) {
        return std::vector{collector::CpuTimes{.cpu = CpuId{0}, .user = user, .idle = idle},
                           collector::CpuTimes{.cpu = CpuId{1}, .user = 0, .idle = 1'000'000'000}};
    };
    sink().builder.set_baseline_times(times(0, 0));
    cpu = CpuId{1};
    constexpr EventId kOther{12};
    add_instance(kOther, 1, 0, kPeriod, CpuId{1});
    read(seconds(1), kOther, seconds(0));
    cpu = CpuId{0};
    read(seconds(5), kClockOnCpu0, seconds(0));
    read(seconds(6), kClockOnCpu0, seconds(1));
    read(seconds(6), kOther, seconds(5));
    cut(seconds(6), true, times(1'000'000'000, 4'000'000'000));
    EXPECT_EQ(cpu0(0).times.user, 200'000'000U);
    EXPECT_EQ(cpu0(0).times.idle, 800'000'000U);
}

TEST_F(CpuAccountsTest, ProcStatDifferencesBelongToTheSlice) {
    const auto row = [](std::uint64_t idle, std::uint64_t steal) {
        return std::vector<collector::CpuTimes>{{.cpu = CpuId{0}, .idle = idle, .steal = steal}};
    };
    sink().builder.set_baseline_times(row(100, 10));
    read(seconds(1), kClockOnCpu0, seconds(0));
    const auto slice_with = [&](Nanoseconds end, std::vector<collector::CpuTimes> times) {
        read(end, kClockOnCpu0, end - seconds(1));
        cut(end, false, std::move(times));
    };
    slice_with(seconds(6), row(150, 12));
    slice_with(seconds(11), row(140, 13));  // idle may step back
    slice_with(seconds(16), {});
    slice_with(seconds(21), row(200, 20));  // over two slices: of neither
    slice_with(seconds(26), row(201, 22));
    EXPECT_TRUE(cpu0(0).times_known);
    EXPECT_EQ(cpu0(0).times.idle, 50U);
    EXPECT_EQ(cpu0(0).times.steal, 2U);
    EXPECT_EQ(cpu0(1).times.idle, 0U);
    EXPECT_FALSE(cpu0(2).times_known);
    EXPECT_FALSE(cpu0(3).times_known);
    EXPECT_TRUE(cpu0(4).times_known);
    EXPECT_EQ(cpu0(4).times.idle, 1U);
}

TEST_F(CpuAccountsTest, EventsThatFollowATaskSayNothingOfCpus) {
    table = {};
    add_event("cycles", test::cycles_attr(), collector::EventRole::kSampling);
    add_event("cpu-clock", test::cpu_clock_attr(), collector::EventRole::kSampling);
    add_instance(kClockOnCpu0, 1, 0, kPeriod, std::nullopt);
    read(seconds(1), kClockOnCpu0, seconds(0));
    sample(seconds(2));
    read(seconds(6), kClockOnCpu0, seconds(5), 0, 3);
    cut(seconds(6), true);
    EXPECT_EQ(slice(0).totals.at(1).lost, 3U);
    EXPECT_FALSE(cpu0(0).clock_recorded);
    EXPECT_EQ(cpu0(0).samples, 1U);
    EXPECT_EQ(cpu0(0).enabled, Nanoseconds{});
}

// A CPU that was silent at first was recorded all the same.
TEST_F(CpuAccountsTest, ForeignCpusAreRecordedFromTheSameMoment) {
    add_instance(kClockOnCpu0, 1, 0, kPeriod, std::nullopt);
    for (int second = 1; second < 15; ++second) {
        cpu = CpuId{0};
        sample(seconds(second));
        cpu = CpuId{1};
        if (second == 12) sample(seconds(second) + milliseconds(1));
        if (second % 5 == 0) cut(seconds(second) + milliseconds(2));
    }
    cut(seconds(15), true);
    std::map<std::uint32_t, Nanoseconds> enabled;
    for (const auto& made : sink().slices) {
        for (const auto& row : made->cpus) {
            EXPECT_TRUE(row.time_estimated);
            enabled[row.cpu.value] += row.enabled;
        }
    }
    EXPECT_EQ(enabled[0], seconds(13) + kPeriod);
    EXPECT_EQ(enabled[1], enabled[0]);
}

TEST_F(CpuAccountsTest, LostSamplesOfAFileAreExactAndNotAddedToLost) {
    sample(seconds(1));
    lost(seconds(2), kClockOnCpu0, 5);
    sample(seconds(3));
    collector::LostSamplesRecord record{.sample = origin(kClockOnCpu0, seconds(4)), .lost = 7};
    give(test::record_bytes(layout(kClockOnCpu0), record), kClockOnCpu0, seconds(4));
    record.by_filter = true;
    give(test::record_bytes(layout(kClockOnCpu0), record), kClockOnCpu0, seconds(4));
    cut(seconds(5), true);
    EXPECT_EQ(slice(0).totals.at(1).lost, 7U);
    EXPECT_FALSE(slice(0).totals.at(1).lost_is_shared);
    EXPECT_EQ(cpu0(0).lost, 7U);
}

// "cycles" and "cycles:P" count the same cycles.
TEST_F(CpuAccountsTest, CyclesOfTwoEventsAreNotAdded) {
    add_event("cycles:P", test::cycles_attr(), collector::EventRole::kSampling);
    constexpr EventId kPrecise{21};
    add_instance(kPrecise, 3, 0, {});
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0, kPrecise}) read(seconds(1), id, seconds(0));
    sample(seconds(2), kPrecise, 70);
    sample(seconds(2), kCyclesOnCpu0, 60);
    throttle(seconds(2), true, kPrecise);
    throttle(seconds(3), false, kPrecise);
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0, kPrecise}) read(seconds(6), id, seconds(5), 100, 4);
    cut(seconds(6), true);
    EXPECT_EQ(cpu0(0).cycles_counted, 100U);
    EXPECT_EQ(cpu0(0).cycles_sampled, 60U);
    EXPECT_EQ(cpu0(0).cycles_samples, 1U);
    EXPECT_EQ(cpu0(0).cycles_lost, 4U);
    EXPECT_EQ(cpu0(0).cycles_throttled, Nanoseconds{});
    EXPECT_EQ(slice(0).totals.at(3).weight, 70U);
    EXPECT_EQ(slice(0).totals.at(3).lost, 4U);
    EXPECT_EQ(slice(0).totals.at(3).throttled, seconds(1));
}

// Cycles that were recorded for a part of the time only.
TEST_F(CpuAccountsTest, TimeWithoutACyclesReadingIsKnown) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    read(seconds(3), kCyclesOnCpu0, seconds(0));
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) {
        read(seconds(6), id, id == kCyclesOnCpu0 ? seconds(3) : seconds(5), 3000);
    }
    cut(seconds(6), true);
    EXPECT_EQ(cpu0(0).cycles_absent, seconds(2));
    EXPECT_EQ(cpu0(0).cycles_counted, 3000U);
}

// A file of ours that ends early: T reaches to its last sample, and cycles to their last reading.
TEST_F(CpuAccountsTest, TheTailOfAFileWithoutItsLastReadings) {
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) read(seconds(1), id, seconds(0));
    sample(seconds(2));
    for (const auto id : {kClockOnCpu0, kCyclesOnCpu0}) read(seconds(6), id, seconds(5), 5000);
    cut(seconds(6));
    sample(seconds(7));
    sample(seconds(8));
    sample(seconds(8), kCyclesOnCpu0, 900);
    cut(seconds(9), true);
    EXPECT_FALSE(cpu0(0).time_estimated);
    EXPECT_EQ(cpu0(0).enabled, seconds(5));
    EXPECT_TRUE(cpu0(1).clock_recorded);
    EXPECT_TRUE(cpu0(1).time_estimated);
    EXPECT_EQ(cpu0(1).enabled, seconds(2));
    EXPECT_DOUBLE_EQ(cpu0(1).ticks_due, 2e9 / 10101010);
    EXPECT_EQ(cpu0(1).samples, 2U);
    EXPECT_FALSE(cpu0(1).cycles_recorded);
    EXPECT_EQ(cpu0(1).cycles_sampled, 0U);
    CpuSlice sum;
    accumulate(sum, cpu0(0));
    accumulate(sum, cpu0(1));
    EXPECT_EQ(sum.cycles_absent, seconds(2));
    EXPECT_EQ(sum.cycles_counted, 5000U);
}

// The same in the first slice, of which only the baseline is there; and of a CPU that had left before.
TEST_F(CpuAccountsTest, TheTailIsOfTheCpusThatWereStillRecorded) {
    constexpr EventId kOther{12};
    add_instance(kOther, 1, 0, kPeriod, CpuId{1});
    read(seconds(1), kClockOnCpu0, seconds(0));
    cpu = CpuId{1};
    read(seconds(1), kOther, seconds(0));
    sample(seconds(2), kOther);
    read(seconds(3), kOther, seconds(2));
    cpu = CpuId{0};
    sample(seconds(4));
    cut(seconds(5), true);
    ASSERT_EQ(slice(0).cpus.size(), 2U);
    EXPECT_EQ(cpu0(0).enabled, seconds(3));
    EXPECT_TRUE(cpu0(0).time_estimated);
    EXPECT_EQ(slice(0).cpus[1].enabled, seconds(2));
    EXPECT_FALSE(slice(0).cpus[1].time_estimated);
}

// "cpu-clock:u" and "cpu-clock": only one of them is a clock of whole CPUs.
TEST_F(CpuAccountsTest, TheClockIsTheFirstThatSeesUserAndKernel) {
    table = {};
    auto user_only = test::cpu_clock_attr();
    user_only.set(collector::kFlagExcludeKernel);
    add_event("cpu-clock:u", user_only, collector::EventRole::kSampling);
    for (const auto* name : {"cpu-clock", "another"}) {
        add_event(name, test::cpu_clock_attr(), collector::EventRole::kSampling);
    }
    for (std::uint32_t i = 0; i < 3; ++i) add_instance(EventId{10 + i}, i, 0, kPeriod);
    for (std::uint32_t i = 0; i < 3; ++i) read(seconds(1), EventId{10 + i}, seconds(0));
    for (std::uint32_t i = 0; i < 3; ++i) sample(seconds(2 + static_cast<int>(i)), EventId{10 + i});
    for (std::uint32_t i = 0; i < 3; ++i) read(seconds(6), EventId{10 + i}, seconds(5), 0, i);
    cut(seconds(6), true);
    EXPECT_TRUE(cpu0(0).clock_recorded);
    EXPECT_EQ(cpu0(0).samples, 1U);
    EXPECT_EQ(cpu0(0).lost, 1U) << "its own";
    EXPECT_EQ(cpu0(0).enabled, seconds(5));
}

}  // namespace
}  // namespace perfvigil::analyzer
