// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/sample_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

collector::SampleId sample_at(Nanoseconds time, std::int32_t pid = 1, std::int32_t tid = 1) {
    collector::SampleId id;
    id.present = collector::kSampleTime | collector::kSampleTid;
    id.time = MonotonicTime(time);
    id.pid = Pid{pid};
    id.tid = Tid{tid};
    return id;
}

bool takes(SampleFilter& filter, const collector::SampleId& sample, std::optional<CpuId> cpu) {
    return filter.takes(marks_of(sample, cpu));
}
bool takes(SampleFilter& filter, Nanoseconds time) { return takes(filter, sample_at(time), CpuId{0}); }

TEST(SampleFilter, OfNothingTakesEverything) {
    SampleFilter filter;
    EXPECT_TRUE(takes(filter, {}, std::nullopt));
    EXPECT_TRUE(filter.sentences().empty());
}

TEST(SampleFilter, CountsSecondsFromTheFirstSample) {
    SampleFilter filter({.time = TimeRange{TimeRange::Unit::kSeconds, 1, 2}});
    EXPECT_EQ(filter.range(), std::nullopt);
    EXPECT_FALSE(takes(filter, seconds(100)));
    EXPECT_FALSE(takes(filter, seconds(101) - Nanoseconds(1)));
    EXPECT_TRUE(takes(filter, seconds(101)));
    EXPECT_TRUE(takes(filter, seconds(102) - Nanoseconds(1)));
    EXPECT_FALSE(takes(filter, seconds(102)));
    EXPECT_EQ(filter.range()->from, MonotonicTime(seconds(101)));
}

TEST(SampleFilter, PercentAreOfTheTimeBetweenFirstAndLast) {
    const SampleSpan span{MonotonicTime(seconds(100)), MonotonicTime(seconds(110))};
    SampleFilter first({.time = TimeRange{TimeRange::Unit::kPercent, 0, 35}}, span);
    SampleFilter second({.time = TimeRange{TimeRange::Unit::kPercent, 35, 100}}, span);
    int taken = 0;
    for (int i = 0; i <= 10'000; ++i) {
        const auto time = seconds(100) + milliseconds(i);
        EXPECT_NE(takes(first, time), takes(second, time)) << i;
        taken += takes(first, time) ? 1 : 0;
    }
    EXPECT_EQ(taken, 3500);
}

TEST(SampleFilter, PercentOfAnUnknownSpanTakeNothing) {
    SampleFilter filter({.time = TimeRange{TimeRange::Unit::kPercent, 0, 100}});
    EXPECT_FALSE(takes(filter, seconds(1)));
}

TEST(SampleFilter, ListsAreOfAnyAndConditionsOfAll) {
    SampleFilter filter({.cpus = {CpuId{3}, CpuId{1}}, .pids = {Pid{7}, Pid{5}}});
    EXPECT_TRUE(takes(filter, sample_at(seconds(1), 5), CpuId{1}));
    EXPECT_TRUE(takes(filter, sample_at(seconds(1), 7), CpuId{3}));
    EXPECT_FALSE(takes(filter, sample_at(seconds(1), 6), CpuId{3}));
    EXPECT_FALSE(takes(filter, sample_at(seconds(1), 7), CpuId{2}));
    SampleFilter threads({.tids = {Tid{9}}});
    EXPECT_TRUE(takes(threads, sample_at(seconds(1), 5, 9), std::nullopt));
    EXPECT_FALSE(takes(threads, sample_at(seconds(1), 9, 5), std::nullopt));
}

TEST(SampleFilter, WhatSamplesDoNotSayIsSaid) {
    SampleFilter filter({.time = TimeRange{TimeRange::Unit::kSeconds, 0, 1}});
    EXPECT_FALSE(takes(filter, {}, CpuId{0}));
    EXPECT_THAT(filter.sentences(), testing::ElementsAre(testing::HasSubstr("1 sample does not say when")));
    SampleFilter cpus({.cpus = {CpuId{0}}});
    EXPECT_FALSE(takes(cpus, sample_at(seconds(1)), std::nullopt));
    EXPECT_FALSE(takes(cpus, sample_at(seconds(2)), std::nullopt));
    EXPECT_THAT(cpus.sentences(), testing::ElementsAre(testing::HasSubstr("2 samples do not say on which CPU")));
    SampleFilter pids({.pids = {Pid{0}}});
    EXPECT_FALSE(takes(pids, {}, CpuId{0}));
    EXPECT_THAT(pids.sentences(), testing::ElementsAre(testing::HasSubstr("whose process they are, so --pid left")));
}

TEST(SampleFilter, WhatHelpsDependsOnWhereTheSamplesStand) {
    SampleFilter filter({.tids = {Tid{1}}});
    EXPECT_FALSE(filter.takes({.pid = Pid{1}}));
    EXPECT_THAT(filter.sentences(), testing::ElementsAre(testing::EndsWith("record with it to select by it.")));
    EXPECT_THAT(filter.sentences(SampleFilter::Source::kScript),
                testing::ElementsAre(testing::HasSubstr("print it (perf script -F +tid)")));
}

TEST(SampleFilter, OfAControlGroupNeedsItsName) {
    SampleFilter filter({.cgroup = CgroupSelection{.unit = "x.service"}});
    EXPECT_TRUE(filter.takes({.cgroup = "/system.slice/x.service"}));
    EXPECT_FALSE(filter.takes({.cgroup = "/system.slice/y.service"}));
    EXPECT_TRUE(filter.sentences().empty());
    EXPECT_FALSE(filter.takes({.cgroup = ""}));
    ASSERT_EQ(filter.sentences().size(), 1U);
    EXPECT_TRUE(filter.sentences().front().contains("in which control group")) << filter.sentences().front();
}

}  // namespace
}  // namespace perfvigil::analyzer
