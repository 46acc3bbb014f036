// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/attr_builder.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <string>

namespace perfvigil::collector {
namespace {

constexpr EventSpec kClock{"cpu-clock", kTypeSoftware, kSwCpuClock};

EventAttr sampling(const RecordingOptions& options, const FeatureSet& features = FeatureSet::all()) {
    return build_sampling_attr(kClock, options, options.tuning, features, 127);
}

TEST(AttrBuilder, FullSamplingAttr) {
    const EventAttr attr = sampling(RecordingOptions{});
    EXPECT_EQ(attr.type, kTypeSoftware);
    EXPECT_EQ(attr.config, kSwCpuClock);
    EXPECT_EQ(attr.sample_period_or_freq, 99U);
    EXPECT_TRUE(attr.freq());
    EXPECT_EQ(attr.sample_type, kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime | kSampleCpu | kSamplePeriod |
                                    kSampleCallchain | kSampleCgroup);
    EXPECT_EQ(attr.read_format, kReadId | kReadTotalTimeEnabled | kReadTotalTimeRunning | kReadLost);
    EXPECT_EQ(attr.clockid, CLOCK_MONOTONIC);
    EXPECT_EQ(attr.sample_max_stack, 0U) << "the kernel's own depth is left to it";
    for (const AttrFlag flag : {kFlagDisabled, kFlagSampleIdAll, kFlagUseClockid, kFlagExcludeGuest}) {
        EXPECT_TRUE(attr.flag(flag)) << flag;
    }
    for (const AttrFlag flag : {kFlagInherit, kFlagExcludeKernel, kFlagMmap, kFlagComm, kFlagTask, kFlagEnableOnExec}) {
        EXPECT_FALSE(attr.flag(flag)) << flag;
    }
    EXPECT_EQ(attr.precise_ip(), 0U);
}

TEST(AttrBuilder, FullSideBandAttr) {
    const EventAttr attr = build_side_band_attr(RecordingOptions{}, FeatureSet::all());
    EXPECT_EQ(attr.type, kTypeSoftware);
    EXPECT_EQ(attr.config, kSwDummy);
    EXPECT_EQ(attr.sample_type, kSampleIdentifier | kSampleTid | kSampleTime | kSampleCpu);
    for (const AttrFlag flag : {kFlagMmap, kFlagMmap2, kFlagComm, kFlagCommExec, kFlagTask, kFlagKsymbol, kFlagBpfEvent,
                                kFlagCgroup, kFlagBuildId, kFlagTextPoke, kFlagSampleIdAll}) {
        EXPECT_TRUE(attr.flag(flag)) << flag;
    }
    EXPECT_FALSE(attr.freq());
}

TEST(AttrBuilder, OptionsReachTheAttr) {
    RecordingOptions options;
    options.tuning.frequency = 999;
    options.tuning.max_stack = 32;
    options.start_disabled_until_exec = true;
    options.target = Processes{{Pid{1}}};
    const EventAttr attr = sampling(options);
    EXPECT_EQ(attr.sample_period_or_freq, 999U);
    EXPECT_EQ(attr.sample_max_stack, 32U);
    EXPECT_TRUE(attr.flag(kFlagEnableOnExec));
    EXPECT_TRUE(attr.flag(kFlagInherit));
    options.inherit = false;
    options.call_chains = CallChains::kNone;
    EXPECT_FALSE(sampling(options).flag(kFlagInherit));
    EXPECT_FALSE(sampling(options).has(kSampleCallchain));
    EXPECT_EQ(sampling(options).sample_max_stack, 0U);
    // The dummy tells of what happens before the exec too.
    EXPECT_FALSE(build_side_band_attr(options, FeatureSet::all()).flag(kFlagEnableOnExec));
}

// tools/perf/util/evsel.c, __evsel__config_callchain().
TEST(AttrBuilder, StackDumpsAreAskedForAsPerfDoes) {
    RecordingOptions options;
    const EventAttr by_frame_pointer = sampling(options);
    options.call_chains = CallChains::kStackDumps;
    options.stack_dump_bytes = 4096;
    EventAttr attr = sampling(options);
    EXPECT_TRUE(attr.has(kSampleCallchain));
    EXPECT_TRUE(attr.has(kSampleRegsUser));
    EXPECT_TRUE(attr.has(kSampleStackUser));
    EXPECT_TRUE(attr.flag(kFlagExcludeCallchainUser));
    EXPECT_FALSE(attr.flag(kFlagExcludeCallchainKernel));
    EXPECT_EQ(attr.sample_stack_user, 4096U);
#ifdef __x86_64__
    EXPECT_EQ(attr.sample_regs_user, 0xff0fffU);
#endif
    attr.sample_type &= ~std::uint64_t{kSampleRegsUser | kSampleStackUser};
    attr.clear(kFlagExcludeCallchainUser);
    attr.sample_regs_user = attr.sample_stack_user = 0;
    EXPECT_EQ(attr, by_frame_pointer) << "nothing else changes";
    EventAttr side_band = build_side_band_attr(options, FeatureSet::all());
    EXPECT_TRUE(side_band.flag(kFlagMmapData)) << "perf needs to know where files start";
    side_band.clear(kFlagMmapData);
    EXPECT_EQ(side_band, build_side_band_attr({}, FeatureSet::all()));
}

TEST(AttrBuilder, EachFeatureMovesItsBitsOnly) {
    const RecordingOptions options;
    const FeatureSet all = FeatureSet::all();
    struct Case {
        Feature feature;
        std::uint64_t sample_type;  // bits that go, of the sampling event
        std::uint64_t read_format;
        std::uint64_t sampling_flags;  // bits that change
        std::uint64_t side_band_flags;
    };
    const auto bit = [](AttrFlag flag) { return std::uint64_t{1} << flag; };
    const std::uint64_t no_kernel = bit(kFlagExcludeKernel) | bit(kFlagExcludeHv) | bit(kFlagExcludeCallchainKernel);
    const Case cases[] = {
        {Feature::kLostCounts, 0, kReadLost, 0, 0},
        {Feature::kBuildIds, 0, 0, 0, bit(kFlagBuildId)},
        {Feature::kTextPokes, 0, 0, 0, bit(kFlagTextPoke)},
        {Feature::kCgroups, kSampleCgroup, 0, 0, bit(kFlagCgroup)},
        {Feature::kBpfEvents, 0, 0, 0, bit(kFlagBpfEvent)},
        {Feature::kKsymbols, 0, 0, 0, bit(kFlagKsymbol)},
        {Feature::kExcludeGuest, 0, 0, bit(kFlagExcludeGuest), bit(kFlagExcludeGuest)},
        {Feature::kKernelSamples, 0, 0, no_kernel, no_kernel},
    };
    std::set<std::string> reasons;
    for (const Case& c : cases) {
        const EventAttr with = sampling(options);
        const EventAttr without = sampling(options, all.without(c.feature));
        EXPECT_EQ(with.sample_type ^ without.sample_type, c.sample_type);
        EXPECT_EQ(with.read_format ^ without.read_format, c.read_format);
        EXPECT_EQ(with.flags ^ without.flags, c.sampling_flags);
        const EventAttr dummy = build_side_band_attr(options, all);
        const EventAttr dummy_without = build_side_band_attr(options, all.without(c.feature));
        EXPECT_EQ(dummy.flags ^ dummy_without.flags, c.side_band_flags);
        EXPECT_EQ(dummy.read_format ^ dummy_without.read_format, c.read_format);
        const Degraded said = missing_feature(c.feature);
        EXPECT_TRUE(reasons.insert(said.reason).second) << said.reason;
        EXPECT_FALSE(said.detail.empty());
    }
    EXPECT_EQ(reasons.size(), kFeatureCount);
}

}  // namespace
}  // namespace perfvigil::collector
