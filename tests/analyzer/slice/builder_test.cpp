// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/allocations.hpp"
#include "tests/support/record_bytes.hpp"
#include "tests/support/slice_collector.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::EventInstance;
using collector::RecordLayout;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::SliceCollector;
using test::SyntheticCode;

constexpr Nanoseconds kPeriod{10101010};
constexpr EventId kClockOnCpu0{10};
constexpr EventId kCyclesOnCpu0{20};
constexpr EventId kSideBand{30};

// Records by hand: cycles (event 0), cpu-clock (event 1) and side-band (event 2) on CPU 0.
class SliceBuilderTest : public testing::Test {
protected:
    SliceBuilderTest() {
        add_event("cycles", test::cycles_attr(), collector::EventRole::kSampling);
        add_event("cpu-clock", test::cpu_clock_attr(), collector::EventRole::kSampling);
        add_event("dummy:HG", test::side_band_attr(), collector::EventRole::kSideBand);
        add_instance(kCyclesOnCpu0, 0, 0, {});
        add_instance(kClockOnCpu0, 1, 0, kPeriod);
        add_instance(kSideBand, 2, 0, {});
    }
    void add_event(std::string name, collector::EventAttr attr, collector::EventRole role) {
        table.add_event({std::move(name), role, attr});
    }
    void add_instance(EventId id, std::uint32_t event, std::uint32_t generation, Nanoseconds period,
                      std::optional<CpuId> whole_cpu = CpuId{0}) {
        EventInstance instance;
        instance.event = {event};
        instance.cpu = whole_cpu;
        instance.generation = generation;
        instance.nominal_period = period;
        instance.layout = RecordLayout::of(table.event({event}).attr);
        table.add_instance(id, instance);
    }
    SliceCollector& sink() {
        if (!collector_) {
            collector_ = std::make_unique<SliceCollector>(table, KernelText(SyntheticCode::text_ranges()), limits);
        }
        return *collector_;
    }
    void give(const test::RecordBytes& bytes, EventId id, Nanoseconds time, bool late = false) {
        const EventInstance* instance = table.find(id);
        const auto record = collector::decode_record(bytes, instance->layout);
        ASSERT_TRUE(record);
        sink().on_record({MonotonicTime(time), instance, *record, bytes, late});
    }
    const RecordLayout& layout(EventId id) { return table.find(id)->layout; }
    collector::SampleId origin(EventId id, Nanoseconds time, Pid pid = Pid{5}) {
        collector::SampleId made;
        made.pid = pid;
        made.tid = Tid{pid.value};
        made.time = MonotonicTime(time);
        made.id = id;
        made.cpu = cpu;
        return made;
    }
    void sample(Nanoseconds time, EventId id = kClockOnCpu0, std::uint64_t period = 0, bool late = false) {
        test::SampleFields fields;
        fields.id = origin(id, time);
        fields.period = period;
        fields.chain = {collector::kContextUser, 0x1010};
        fields.ip = 0x1010;
        give(test::record_bytes(layout(id), fields), id, time, late);
    }
    void read(Nanoseconds time, EventId id, Nanoseconds enabled, std::uint64_t value = 0, std::uint64_t lost = 0,
              Nanoseconds running = Nanoseconds(-1)) {
        test::ReadRecordFields fields;
        fields.id = origin(id, time);
        fields.pid = Pid{-1};
        fields.read = {.time_enabled = static_cast<std::uint64_t>(enabled.count()),
                       .time_running = static_cast<std::uint64_t>((running.count() < 0 ? enabled : running).count()),
                       .members = {{value, id, lost}}};
        give(test::record_bytes(layout(id), fields), id, time);
    }
    void throttle(Nanoseconds time, bool begins, EventId id = kClockOnCpu0) {
        collector::ThrottleRecord record{.sample = origin(id, time), .throttled = begins, .time = MonotonicTime(time)};
        record.id = id;
        give(test::record_bytes(layout(id), record), id, time);
    }
    void lost(Nanoseconds time, EventId id, std::uint64_t count) {
        give(test::record_bytes(layout(id), collector::LostRecord{.sample = origin(id, time), .id = id, .lost = count}),
             id, time);
    }
    void finished_init(Nanoseconds time) {
        collector::OtherRecord record{.sample = origin(kSideBand, time)};
        record.type = collector::kRecordFinishedInit;
        give(test::record_bytes(layout(kSideBand), record), kSideBand, time);
    }
    void cut(Nanoseconds time, bool last = false, std::vector<collector::CpuTimes> times = {},
             std::uint64_t lost_side_band = 0) {
        collector::Cut made;
        made.time = MonotonicTime(time);
        made.cpu_times = std::move(times);
        made.last = last;
        made.lost_side_band = lost_side_band;
        sink().on_cut(made);
    }
    const Slice& slice(std::size_t i) { return *sink().slices.at(i); }
    const CpuSlice& cpu0(std::size_t i) { return slice(i).cpus.at(0); }

    collector::EventTable table;
    SliceLimits limits;
    CpuId cpu{0};

private:
    std::unique_ptr<SliceCollector> collector_;
};

TEST_F(SliceBuilderTest, AStretchEndsAtItsReading) {
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
TEST_F(SliceBuilderTest, AGenerationMayChangeWithinASlice) {
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
TEST_F(SliceBuilderTest, ACpuReturnsInALaterGeneration) {
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

TEST_F(SliceBuilderTest, AClockSampleWeighsItsGenerationsPeriod) {
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
TEST_F(SliceBuilderTest, OverlappingGenerationsCountTimeOnce) {
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

TEST_F(SliceBuilderTest, LossComesFromTheCounters) {
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

TEST_F(SliceBuilderTest, CyclesAreScaledByTheTimeTheyRan) {
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

TEST_F(SliceBuilderTest, ThrottledTimeGoesOnAcrossCuts) {
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
    EXPECT_EQ(slice(0).totals.at(1).throttles, 2U);
    EXPECT_EQ(slice(1).totals.at(0).throttles, 1U);
}

// What throttles a clock ends with its generation and with its CPU's absence, for its UNTHROTTLE is never written then.
TEST_F(SliceBuilderTest, ThrottlingEndsWithItsInstance) {
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
TEST_F(SliceBuilderTest, ATickEndsThrottlingWhoseRecordWasLost) {
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

// A CPU whose events began late has its part of what the kernel says of the whole slice.
TEST_F(SliceBuilderTest, ProcStatOfASliceIsSharedWithItsUnrecordedPart) {
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

TEST_F(SliceBuilderTest, ProcStatDifferencesBelongToTheSlice) {
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

TEST_F(SliceBuilderTest, EventsThatFollowATaskSayNothingOfCpus) {
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

TEST_F(SliceBuilderTest, LateRecordsGoToTheOpenSliceAndAreCounted) {
    read(seconds(1), kClockOnCpu0, seconds(0));
    read(seconds(6), kClockOnCpu0, seconds(5));
    cut(seconds(6));
    sample(seconds(5), kClockOnCpu0, 0, true);
    read(seconds(11), kClockOnCpu0, seconds(10));
    cut(seconds(11), true);
    EXPECT_EQ(slice(0).late_records, 0U);
    EXPECT_EQ(slice(1).late_records, 1U);
    EXPECT_EQ(cpu0(1).samples, 1U);
}

TEST_F(SliceBuilderTest, SideBandLossMakesMapsSuspectUntilASnapshot) {
    const auto end = [&](int second, std::uint64_t lost_side_band = 0) {
        read(seconds(second), kClockOnCpu0, seconds(second - 1));
        cut(seconds(second), false, {}, lost_side_band);
    };
    read(seconds(1), kClockOnCpu0, seconds(0));
    end(6);
    lost(seconds(7), kSideBand, 4);
    end(11, 4);
    end(16);
    finished_init(seconds(17));
    end(21);
    end(26);
    lost(seconds(27), kSideBand, 4);
    finished_init(seconds(28));
    end(31, 4);
    end(36);
    end(41, 9);  // only the counters know
    finished_init(seconds(42));
    end(46);
    end(51);
    const bool suspect[] = {false, true, true, true, false, true, false, true, true, false};
    for (std::size_t i = 0; i < std::size(suspect); ++i) EXPECT_EQ(slice(i).maps_suspect, suspect[i]) << i;
    EXPECT_EQ(slice(1).lost_side_band, 4U);
}

TEST_F(SliceBuilderTest, ForeignLossInASharedRingMakesMapsSuspect) {
    sample(seconds(1));
    lost(seconds(2), kClockOnCpu0, 5);
    sample(seconds(3));
    cut(seconds(4), true);
    EXPECT_TRUE(slice(0).maps_suspect);
    // The attr promises exact counts that never came: what the ring said is all there is.
    EXPECT_EQ(slice(0).totals.at(1).lost, 5U);
    EXPECT_TRUE(slice(0).totals.at(1).lost_is_shared);
}

// A CPU that was silent at first was recorded all the same.
TEST_F(SliceBuilderTest, ForeignCpusAreRecordedFromTheSameMoment) {
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

TEST_F(SliceBuilderTest, LostSamplesOfAFileAreExactAndNotAddedToLost) {
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

TEST_F(SliceBuilderTest, DepthIsOfTheGenerationThenTheAttrThenTheLimit) {
    limits.max_stack = 1;
    table.event({1}).attr.sample_max_stack = 0;
    sample(seconds(1));
    EventInstance deep = *table.find(kClockOnCpu0);
    deep.max_stack = 2;
    table.add_instance(kClockOnCpu0, deep);
    sample(seconds(2));
    table.event({1}).attr.sample_max_stack = 1;
    sample(seconds(3));
    deep.max_stack = 0;
    table.add_instance(kClockOnCpu0, deep);
    sample(seconds(4));
    cut(seconds(5), true);
    std::map<bool, std::uint64_t> by_truncated;
    for (const auto& entry : slice(0).entries) {
        by_truncated[(slice(0).stacks[entry.stack].flags & kStackTruncated) != 0] += entry.samples;
    }
    EXPECT_EQ(by_truncated[true], 2U);
    EXPECT_EQ(by_truncated[false], 2U);
}

TEST_F(SliceBuilderTest, WithoutKernelTextIdleIsToldFromTheTaskAndSaid) {
    const auto swapper = [&](Nanoseconds time) {
        test::SampleFields fields;
        fields.id = origin(kClockOnCpu0, time, Pid{0});
        fields.misc = collector::kMiscKernel;
        fields.ip = SyntheticCode::kernel_address("net_rx_action");
        fields.chain = {collector::kContextKernel, fields.ip, SyntheticCode::kernel_address("handle_softirqs") + 0x40};
        give(test::record_bytes(layout(kClockOnCpu0), fields), kClockOnCpu0, time);
    };
    read(seconds(1), kClockOnCpu0, seconds(0));
    swapper(seconds(2));
    cut(seconds(3));
    sink().builder.set_kernel_text({});
    swapper(seconds(4));
    cut(seconds(5));
    EXPECT_EQ(cpu0(0).mode_time[index_of(Mode::kSoftirq)], kPeriod);
    EXPECT_EQ(cpu0(0).irq_in_idle, kPeriod);
    EXPECT_FALSE(slice(0).idle_by_task);
    EXPECT_EQ(cpu0(1).idle_samples, 1U);
    EXPECT_TRUE(slice(1).idle_by_task);
    EXPECT_TRUE(slice(1).entries.at(0).idle);
}

TEST_F(SliceBuilderTest, ImpossibleCpusAndUnknownEventsAreNoCrash) {
    cpu = CpuId{0xfffffff0};
    add_instance(kClockOnCpu0, 1, 0, kPeriod, std::nullopt);
    sample(seconds(1));
    test::RecordBytes bytes;
    const collector::Record record = collector::SampleRecord{};
    sink().on_record({MonotonicTime(seconds(2)), nullptr, record, bytes, false});
    cut(seconds(3), true);
    EXPECT_TRUE(slice(0).cpus.empty());
    EXPECT_EQ(slice(0).totals.at(1).samples, 1U);
}

// --- whole recordings

TEST(SliceBuilder, SynthesizedActorsAndStacks) {
    test::SyntheticStream stream({.slices = 2});
    SliceCollector sink(stream.events(), KernelText(stream.host().text_ranges));
    stream.run(sink);
    ASSERT_EQ(sink.slices.size(), 2U);
    for (const auto& slice : sink.slices) {
        for (const auto& entry : slice->entries) {
            const Actor& actor = slice->actors[entry.actor];
            const Stack& stack = slice->stacks[entry.stack];
            if (actor.pid.value != 0) {
                EXPECT_EQ(actor.comm, "worker");
                EXPECT_EQ(actor.cgroup_path,
                          "/system.slice/worker" + std::to_string((actor.pid.value - 1000) / 100) + ".service");
                EXPECT_GE(stack.depth, 12);
            }
            EXPECT_EQ(entry.idle, (stack.flags & kStackIdleLoop) != 0);
            for (const auto frame : slice->frames_of(stack)) {
                const auto id = slice->frames[frame].dso;
                EXPECT_TRUE(std::ranges::any_of(slice->dsos, [&](const auto& dso) { return dso->id == id; }));
            }
        }
    }
}

// A sink that hands on, and counts what that allocates.
class CountingSink final : public collector::RecordSink {
public:
    explicit CountingSink(collector::RecordSink& next) : next_(next) {}
    void on_record(const collector::OrderedRecord& record) override {
        ++records;
        allocations += test::allocations_in([&] { next_.on_record(record); });
    }
    void on_cut(const collector::Cut& cut) override {
        allocations += test::allocations_in([&] { next_.on_cut(cut); });
        per_slice.emplace_back(records, allocations);
        records = allocations = 0;
    }
    std::size_t records = 0;
    std::size_t allocations = 0;
    std::vector<std::pair<std::size_t, std::size_t>> per_slice;

private:
    collector::RecordSink& next_;
};

TEST(SliceBuilder, TheSteadyStateAllocatesNothing) {
    test::SyntheticOptions options{.slices = 80};
    options.cpus.assign(4, {.busy = 0.6, .lost = 0.01});
    options.slice = std::chrono::seconds(2);
    options.hertz = 199;
    test::SyntheticStream stream(options);
    collector::ProcessTable processes;
    SliceBuilder* builder = nullptr;
    SliceBuilder made(stream.events(), processes, KernelText(stream.host().text_ranges), {},
                      [&](std::unique_ptr<Slice> slice) { builder->recycle(std::move(slice)); });
    builder = &made;
    CountingSink sink(made);
    stream.run(sink);
    // The first slices size the tables. Random recordings now and then hold a little more than any before: a table
    // doubles, which is no cost per sample.
    std::size_t with_allocations = 0;
    for (std::size_t i = 4; i + 1 < sink.per_slice.size(); ++i) {
        const auto [records, allocations] = sink.per_slice[i];
        ASSERT_GT(records, 1000U);
        EXPECT_LE(allocations, 8U) << "slice " << i;
        with_allocations += allocations != 0 ? 1 : 0;
    }
    EXPECT_LE(with_allocations, 8U);
}

// Where it is taken out nothing behind it can tell: no frame, no Dso, no name, no number of a process.
TEST_F(SliceBuilderTest, AnExcludedTaskLeavesOnlyTheTimeItTook) {
    Exclusion exclusion({.units = {"vault.service"}, .comms = {"secret"}});
    sink().builder.exclude(&exclusion);
    const auto name = [&](std::int32_t pid, std::string_view comm) {
        collector::CommRecord record{.sample = origin(kSideBand, seconds(1), Pid{pid})};
        record.pid = Pid{pid};
        record.tid = Tid{pid};
        record.comm = comm;
        give(test::record_bytes(layout(kSideBand), record), kSideBand, seconds(1));
    };
    name(5, "secret");
    read(seconds(1), kClockOnCpu0, seconds(0));
    sample(seconds(2));
    name(5, "open");
    sample(seconds(3));
    read(seconds(6), kClockOnCpu0, seconds(5));
    collector::Cut made;
    made.time = MonotonicTime(seconds(6));
    made.waits.throttled = {{.path = "/system.slice/vault.service", .throttled = seconds(1)},
                            {.path = "/system.slice/web.service", .throttled = seconds(2)}};
    made.last = true;
    sink().on_cut(made);

    const Slice& open = slice(0);
    EXPECT_EQ(open.totals.at(1).samples, 2U);
    EXPECT_EQ(cpu0(0).mode_time[index_of(Mode::kUser)], 2 * kPeriod);
    // Its control group is not known, so neither of the two is shown.
    ASSERT_EQ(open.actors.size(), 1U);
    EXPECT_EQ(open.actors[0], (Actor{.comm = std::string(kExcluded), .cgroup_path = std::string(kExcluded)}));
    ASSERT_EQ(open.entries.size(), 1U);
    EXPECT_EQ(open.entries[0].samples, 2U);
    ASSERT_EQ(open.stacks.size(), 1U);
    const auto frames = open.frames_of(open.stacks[0]);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(open.frames[frames[0]], (Frame{.dso = {}, .offset = kFrameExcluded}));
    EXPECT_EQ(open.stacks[0].flags, 0);
    EXPECT_TRUE(open.dsos.empty());
    ASSERT_EQ(open.waits.throttled.size(), 2U);
    EXPECT_EQ(open.waits.throttled[0].path, kExcluded);
    EXPECT_EQ(open.waits.throttled[0].throttled, seconds(1));
    EXPECT_EQ(open.waits.throttled[1].path, "/system.slice/web.service");
}

TEST_F(SliceBuilderTest, ATaskIsExcludedFromTheRecordOnThatNamesIt) {
    Exclusion exclusion({.comms = {"secret"}});
    sink().builder.exclude(&exclusion);
    const auto name = [&](Nanoseconds time, std::string_view comm) {
        collector::CommRecord record{.sample = origin(kSideBand, time)};
        record.pid = Pid{5};
        record.tid = Tid{5};
        record.comm = comm;
        give(test::record_bytes(layout(kSideBand), record), kSideBand, time);
    };
    read(seconds(1), kClockOnCpu0, seconds(0));
    name(seconds(1), "open");
    sample(seconds(2));
    name(seconds(3), "secret");
    sample(seconds(4));
    sample(seconds(5));
    read(seconds(6), kClockOnCpu0, seconds(5));
    cut(seconds(6), true);
    ASSERT_EQ(slice(0).actors.size(), 2U);
    EXPECT_EQ(slice(0).actors[0].comm, "open");
    EXPECT_EQ(slice(0).actors[1].comm, kExcluded);
    ASSERT_EQ(slice(0).entries.size(), 2U);
    EXPECT_EQ(slice(0).entries[1].samples, 2U);
}

}  // namespace
}  // namespace perfvigil::analyzer
