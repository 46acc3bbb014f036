// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/allocations.hpp"
#include "tests/support/record_bytes.hpp"
#include "tests/support/slice_records.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::EventInstance;
using std::chrono::seconds;
using test::kClockOnCpu0;
using test::kPeriod;
using test::kSideBand;
using test::SliceCollector;
using test::SyntheticCode;

using SliceBuilderTest = test::SliceRecords;

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
