// SPDX-License-Identifier: GPL-2.0-or-later
// Which errno at which event leads to which recording, what is said of it, and what ends it.
#include "collector/negotiation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fake_event_kernel.hpp"

namespace perfvigil::collector {
namespace {

class NegotiationTest : public testing::Test {
protected:
    Result<Negotiated> negotiate_now() { return negotiate(kernel, options, CpuId{0}, threads); }

    static std::vector<std::string> reasons(const Negotiated& result) {
        std::vector<std::string> reasons;
        for (const Degraded& entry : result.degraded) reasons.push_back(entry.reason);
        return reasons;
    }
    static std::vector<std::string> names(const Negotiated& result) {
        std::vector<std::string> names;
        for (const EventSpec& event : result.plan.events) names.push_back(event.name);
        return names;
    }
    static bool is_cycles(const EventAttr& attr) { return attr.type == kTypeHardware && attr.config == kHwCpuCycles; }

    test::ManualClock clock;
    test::FakeEventKernel kernel{clock, "/nonexistent"};
    RecordingOptions options;
    std::vector<TargetThread> threads;
};

using Names = std::vector<std::string>;

TEST_F(NegotiationTest, EverythingWorks) {
    const auto result = negotiate_now();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(names(*result), (Names{"cycles", "cpu-clock"}));
    EXPECT_TRUE(result->degraded.empty());
    EXPECT_EQ(result->plan.features, FeatureSet::all());
    EXPECT_EQ(result->plan.tids(), std::vector<Tid>{kEveryTask});
}

TEST_F(NegotiationTest, AKernelThatDumpsNoStacksSaysSo) {
    if (kUnwindRegisters == 0) GTEST_SKIP() << "no stack dumps on this architecture";
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.call_chains = CallChains::kStackDumps;
    EXPECT_TRUE(negotiate_now());
    for (const int error : {EINVAL, ENOSYS}) {
        kernel.on_open = [error](const EventAttr& attr, CpuId, Tid) { return attr.sample_stack_user != 0 ? error : 0; };
        const auto refused = negotiate_now();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
        EXPECT_TRUE(refused.error().message.contains("frame pointers")) << refused.error().message;
    }
    kernel.on_open = [](const EventAttr&, CpuId, Tid) { return EACCES; };
    const auto forbidden = negotiate_now();
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code, ErrorCode::kPermission) << "no fault of the dumps";
    options.stack_dump_bytes = 7;
    const auto odd = negotiate_now();
    ASSERT_FALSE(odd);
    EXPECT_EQ(odd.error().code, ErrorCode::kInvalid);
}

TEST_F(NegotiationTest, WithoutAPmu) {
    for (const int error : {ENOENT, ENODEV, ENXIO, EOPNOTSUPP}) {
        kernel.on_open = [error](const EventAttr& attr, CpuId, Tid) { return is_cycles(attr) ? error : 0; };
        options.events = {{"cycles", kTypeHardware, kHwCpuCycles}, {"cpu-clock", kTypeSoftware, kSwCpuClock}};
        const auto both = negotiate_now();
        ASSERT_TRUE(both) << both.error().message;
        EXPECT_EQ(names(*both), Names{"cpu-clock"}) << "once, not twice";
        EXPECT_EQ(reasons(*both), Names{"no_pmu"});
        EXPECT_EQ(both->plan.features, FeatureSet::all());
        // Asked for cycles alone: the clock stands in, named as what it is.
        options.events = {{"cycles", kTypeHardware, kHwCpuCycles}};
        const auto alone = negotiate_now();
        ASSERT_TRUE(alone);
        EXPECT_EQ(names(*alone), Names{"cpu-clock"});
        EXPECT_EQ(reasons(*alone), Names{"no_pmu"});
    }
}

TEST_F(NegotiationTest, AnotherEventThatIsMissingIsAnError) {
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}, {"cache-misses", kTypeHardware, 3}};
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) { return attr.type == kTypeHardware ? ENOENT : 0; };
    const auto result = negotiate_now();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(result.error().message.starts_with("cache-misses: perf_event_open: No such file or directory: "))
        << result.error().message;
}

// Kernels that refuse what they are too old for, one feature or several.
TEST_F(NegotiationTest, OldKernels) {
    const auto bit = [](AttrFlag flag) { return std::uint64_t{1} << flag; };
    struct Case {
        const char* kernel;
        std::uint64_t read_format;
        std::uint64_t sample_type;
        std::uint64_t flags;
        Names reasons;
    };
    const Case cases[] = {
        {"5.15", kReadLost, 0, 0, {"no_lost_counts"}},
        {"5.10", kReadLost, 0, bit(kFlagBuildId), {"no_lost_counts", "no_build_ids"}},
        {"5.8",
         kReadLost,
         0,
         bit(kFlagBuildId) | bit(kFlagTextPoke),
         {"no_lost_counts", "no_build_ids", "no_text_pokes"}},
        {"5.4",
         kReadLost,
         kSampleCgroup,
         bit(kFlagBuildId) | bit(kFlagTextPoke) | bit(kFlagCgroup),
         {"no_lost_counts", "no_cgroups", "no_build_ids", "no_text_pokes"}},
        {"4.19",
         kReadLost,
         kSampleCgroup,
         bit(kFlagBuildId) | bit(kFlagTextPoke) | bit(kFlagCgroup) | bit(kFlagBpfEvent) | bit(kFlagKsymbol),
         {"no_lost_counts", "no_cgroups", "no_build_ids", "no_text_pokes", "no_bpf_events", "no_ksymbols"}},
        {"no cgroup support built in", 0, kSampleCgroup, 0, {"no_cgroups"}},
        {"only text pokes refused: what is newer stays", 0, 0, bit(kFlagTextPoke), {"no_text_pokes"}},
        {"guests cannot be left out", 0, 0, bit(kFlagExcludeGuest), {"guests_included"}},
    };
    for (const Case& c : cases) {
        kernel.on_open = [&](const EventAttr& attr, CpuId, Tid) {
            const bool refused = (attr.read_format & c.read_format) != 0 || (attr.sample_type & c.sample_type) != 0 ||
                                 (attr.flags & c.flags) != 0;
            return refused ? EINVAL : 0;
        };
        const auto result = negotiate_now();
        ASSERT_TRUE(result) << c.kernel << ": " << result.error().message;
        EXPECT_EQ(reasons(*result), c.reasons) << c.kernel;
        EXPECT_EQ(names(*result), (Names{"cycles", "cpu-clock"}));
        // What was agreed opens.
        const auto& plan = result->plan;
        for (const EventSpec& event : plan.events) {
            const EventAttr attr =
                build_sampling_attr(event, options, plan.tuning, plan.features, plan.kernel_max_stack);
            EXPECT_EQ(kernel.on_open(attr, CpuId{0}, kEveryTask), 0);
        }
        EXPECT_EQ(kernel.on_open(build_side_band_attr(options, plan.features), CpuId{0}, kEveryTask), 0);
    }
}

TEST_F(NegotiationTest, PmusThatCountGuestsToo) {
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) {
        return is_cycles(attr) && attr.flag(kFlagExcludeGuest) ? EOPNOTSUPP : 0;
    };
    const auto result = negotiate_now();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(names(*result), (Names{"cycles", "cpu-clock"}));
    EXPECT_EQ(reasons(*result), Names{"guests_included"});
}

// A kernel refuses with what it looks at first, and each refusal hides the next: in whatever order they come, what is
// left is recorded, and every reason is named.
TEST_F(NegotiationTest, RefusalsThatHideEachOther) {
    struct Check {
        std::function<bool(const EventAttr&)> refuses;
        int error;
    };
    std::vector<Check> checks = {
        {[](const EventAttr& attr) { return (attr.read_format & kReadLost) != 0; }, EINVAL},
        {[](const EventAttr& attr) { return attr.has(kSampleCgroup) || attr.flag(kFlagCgroup); }, EINVAL},
        {[](const EventAttr& attr) { return is_cycles(attr) && attr.flag(kFlagExcludeGuest); }, EOPNOTSUPP},
        {[](const EventAttr& attr) { return is_cycles(attr) && attr.precise_ip() > 1; }, EOPNOTSUPP},
        {[](const EventAttr& attr) { return !attr.flag(kFlagExcludeKernel); }, EACCES}};
    options.target = Processes{{Pid{10}}};
    threads = {{Pid{10}, Tid{10}}};
    options.events = {parse_event("cycles:ppp").value(), {"cpu-clock", kTypeSoftware, kSwCpuClock}};
    std::vector<std::size_t> order(checks.size());
    std::iota(order.begin(), order.end(), 0);
    do {
        int probes = 0;
        kernel.on_open = [&](const EventAttr& attr, CpuId, Tid) {
            ++probes;
            for (const std::size_t i : order) {
                if (checks[i].refuses(attr)) return checks[i].error;
            }
            return 0;
        };
        const auto result = negotiate_now();
        const auto said = testing::PrintToString(order);
        ASSERT_TRUE(result) << said << ": " << result.error().message;
        EXPECT_EQ(names(*result), (Names{"cycles:ppp", "cpu-clock"})) << said;
        EXPECT_EQ(result->plan.events[0].precise, 1) << said;
        auto found = reasons(*result);
        std::ranges::sort(found);
        EXPECT_EQ(found, (Names{"guests_included", "no_cgroups", "no_kernel_samples", "no_lost_counts", "not_precise"}))
            << said;
        EXPECT_LE(probes, 40) << said;
    } while (std::ranges::next_permutation(order).found);
}

// The reason that is left when every way was tried is the event's own.
TEST_F(NegotiationTest, WhatIsBehindTheOtherRefusalsIsSaid) {
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) {
        if ((attr.read_format & kReadLost) != 0) return EINVAL;
        if (!is_cycles(attr)) return 0;
        return attr.flag(kFlagExcludeGuest) ? EOPNOTSUPP : ENOENT;
    };
    const auto result = negotiate_now();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(names(*result), Names{"cpu-clock"});
    EXPECT_EQ(reasons(*result), (Names{"no_pmu", "no_lost_counts"})) << "guests are no matter of the clock";
    EXPECT_TRUE(result->degraded[0].detail.contains("No such file or directory")) << result->degraded[0].detail;

    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) {
        return (attr.read_format & kReadLost) != 0 ? EINVAL : EACCES;
    };
    const auto forbidden = negotiate_now();
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code, ErrorCode::kPermission) << forbidden.error().message;
}

// Whatever a kernel answers, it is not asked for ever.
TEST_F(NegotiationTest, AnEndToAsking) {
    constexpr int kAnswers[] = {0, EINVAL, EOPNOTSUPP, EACCES, EMFILE, ENOENT};
    options.events = {parse_event("cycles:P").value(), {"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.target = Processes{{Pid{10}}};
    threads = {{Pid{10}, Tid{10}}};
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        int probes = 0;
        kernel.on_open = [&](const EventAttr&, CpuId, Tid) {
            ++probes;
            return kAnswers[random() % std::size(kAnswers)];
        };
        const auto result = negotiate_now();
        ASSERT_LE(probes, 200);
        EXPECT_TRUE(result || !result.error().message.empty());
    }
}

TEST_F(NegotiationTest, PrecisionComesDownToWhatThePmuHas) {
    const auto with_most = [this](unsigned most, const char* name, int error = EOPNOTSUPP) {
        kernel.on_open = [most, error](const EventAttr& attr, CpuId, Tid) {
            return attr.precise_ip() > most ? error : 0;
        };
        options.events = {parse_event(name).value(), {"cpu-clock", kTypeSoftware, kSwCpuClock}};
        auto result = negotiate_now();
        EXPECT_TRUE(result) << result.error().message;
        return *std::move(result);
    };
    for (const unsigned most : {0U, 1U, 2U, 3U}) {
        const auto best = with_most(most, "cycles:P");
        EXPECT_EQ(best.plan.events[0].precise, most);
        EXPECT_EQ(best.plan.features, FeatureSet::all()) << "no feature pays for it";
        EXPECT_EQ(reasons(best), most == 0 ? Names{"not_precise"} : Names{});
        const auto two = with_most(most, "cycles:pp", EINVAL);
        EXPECT_EQ(two.plan.events[0].precise, std::min(most, 2U));
        EXPECT_EQ(reasons(two), most < 2 ? Names{"not_precise"} : Names{});
    }
    const auto said = with_most(1, "cycles:ppp").degraded.at(0).detail;
    EXPECT_TRUE(said.contains("cycles:ppp")) << said;
    EXPECT_TRUE(said.contains("precise_ip 1 instead of 3")) << said;
}

TEST_F(NegotiationTest, AnOldKernelsRefusalIsNoMatterOfPrecision) {
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) { return (attr.read_format & kReadLost) != 0 ? EINVAL : 0; };
    options.events = {parse_event("cycles:ppp").value()};
    const auto result = negotiate_now();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->plan.events[0].precise, 3);
    EXPECT_EQ(reasons(*result), Names{"no_lost_counts"});
}

TEST_F(NegotiationTest, KernelSamplesAreGivenUpForOurOwnTasksOnly) {
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid tid) {
        return tid == kEveryTask || !attr.flag(kFlagExcludeKernel) ? EACCES : 0;
    };
    const auto whole = negotiate_now();
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().code, ErrorCode::kPermission);

    options.target = Processes{{Pid{10}}};
    threads = {{Pid{10}, Tid{10}}};
    const auto ours = negotiate_now();
    ASSERT_TRUE(ours) << ours.error().message;
    EXPECT_EQ(reasons(*ours), Names{"no_kernel_samples"});
    EXPECT_FALSE(ours->plan.features.has(Feature::kKernelSamples));

    kernel.settings["perf_event_paranoid"] = 1;  // then EACCES means something else
    EXPECT_FALSE(negotiate_now());
}

TEST_F(NegotiationTest, EveryRefusalIsOneSentenceWithItsWayOut) {
    struct Case {
        int error;
        std::int64_t paranoid;
        bool task;
        ErrorCode code;
        Names words;
    };
    const Case cases[] = {
        {EACCES,
         2,
         false,
         ErrorCode::kPermission,
         {"CAP_PERFMON", "kernel.perf_event_paranoid is 2", "run as root", "AmbientCapabilities"}},
        {EACCES,
         3,
         false,
         ErrorCode::kPermission,
         {"kernel.perf_event_paranoid is 3", "CAP_SYS_ADMIN", "CAP_PERFMON is not enough",
          "kernel.perf_event_paranoid=2", "60-perfvigil.conf", "debian-paranoid.conf"}},
        {EACCES, 4, true, ErrorCode::kPermission, {"kernel.perf_event_paranoid is 4", "CAP_SYS_ADMIN"}},
        {EACCES, 1, true, ErrorCode::kPermission, {"not ours to record", "CAP_PERFMON"}},
        {EPERM, 2, false, ErrorCode::kPermission, {"system call filter", "SystemCallFilter=perf_event_open"}},
        {ENOSYS, 2, false, ErrorCode::kUnsupported, {"no perf events"}},
        {EINVAL, 2, false, ErrorCode::kUnsupported, {"Linux 4.1"}},
        {EMFILE, 2, false, ErrorCode::kExhausted, {"RLIMIT_NOFILE", "LimitNOFILE"}},
        {EBUSY, 2, false, ErrorCode::kBusy, {"another program"}},
        {ESRCH, 2, true, ErrorCode::kNotFound, {"ended"}},
        {EIO, 2, false, ErrorCode::kIo, {"Input/output error"}},
    };
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    for (const Case& c : cases) {
        kernel.settings["perf_event_paranoid"] = c.paranoid;
        kernel.on_open = [&](const EventAttr&, CpuId, Tid) { return c.error; };
        options.target = c.task ? RecordingTarget(Processes{{Pid{10}}}) : RecordingTarget(AllCpus{});
        threads = c.task ? std::vector<TargetThread>{{Pid{10}, Tid{10}}} : std::vector<TargetThread>{};
        const auto result = negotiate_now();
        ASSERT_FALSE(result) << c.error;
        EXPECT_EQ(result.error().code, c.code) << result.error().message;
        EXPECT_EQ(result.error().error_number, c.error);
        EXPECT_TRUE(result.error().message.starts_with("cpu-clock: perf_event_open: ")) << result.error().message;
        EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
        for (const std::string& word : c.words)
            EXPECT_TRUE(result.error().message.contains(word)) << word << " in " << result.error().message;
    }
    kernel.settings.clear();
    kernel.on_open = [](const EventAttr&, CpuId, Tid) { return EACCES; };
    options.target = AllCpus{};
    threads = {};
    EXPECT_TRUE(negotiate_now().error().message.contains("cannot be read"));
}

TEST_F(NegotiationTest, FileLimitIsRaisedOnce) {
    kernel.file_limit_rises = true;
    int refusals = 1;
    kernel.on_open = [&](const EventAttr&, CpuId, Tid) { return refusals-- > 0 ? EMFILE : 0; };
    EXPECT_TRUE(negotiate_now());
    kernel.on_open = [](const EventAttr&, CpuId, Tid) { return EMFILE; };
    EXPECT_FALSE(negotiate_now());
}

TEST_F(NegotiationTest, TheFirstLivingThreadSpeaksForAll) {
    options.target = Processes{{Pid{10}}};
    threads = {{Pid{10}, Tid{10}}, {Pid{10}, Tid{11}}};
    kernel.on_open = [](const EventAttr&, CpuId, Tid tid) { return tid == Tid{10} ? ESRCH : 0; };
    const auto result = negotiate_now();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->plan.tids(), (std::vector<Tid>{Tid{10}, Tid{11}}));
}

TEST_F(NegotiationTest, LimitsOfTheHostAreObeyedAndSaid) {
    kernel.settings["perf_event_max_sample_rate"] = 1000;
    kernel.settings["perf_event_max_stack"] = 64;
    options.rings_total_bytes = 1U << 20;
    Tuning wanted;
    wanted.frequency = 4000;
    wanted.max_stack = 127;
    wanted.sample_ring_bytes = 300'000;  // 128 pages
    wanted.side_band_ring_bytes = 5000;  // 8 pages
    std::vector<Degraded> degraded;
    const Tuning limited = limit_tuning(kernel, options, wanted, 4, degraded);
    EXPECT_EQ(limited.frequency, 1000U);
    EXPECT_EQ(limited.max_stack, 64U);
    EXPECT_EQ(limited.sample_ring_bytes, 128U << 10);
    EXPECT_EQ(limited.side_band_ring_bytes, 32U << 10);
    EXPECT_LE(ring_bytes(limited, 4, 4096), options.rings_total_bytes);
    ASSERT_EQ(degraded.size(), 3U);
    EXPECT_EQ(degraded[0].reason, "rate_limited");
    EXPECT_EQ(degraded[1].reason, "short_chains");
    EXPECT_EQ(degraded[2].reason, "small_rings");
    degraded.clear();
    EXPECT_EQ(limit_tuning(kernel, options, limited, 4, degraded), limited);
    EXPECT_TRUE(degraded.empty()) << "what is within the limits is left alone";
}

TEST_F(NegotiationTest, RingsHalveTheLargerAndStop) {
    Tuning tuning;
    tuning.sample_ring_bytes = 64U << 10;
    tuning.side_band_ring_bytes = 64U << 10;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
    while (halve_rings(tuning, 4096))
        steps.emplace_back(tuning.sample_ring_bytes >> 10, tuning.side_band_ring_bytes >> 10);
    EXPECT_EQ(steps, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{64, 32}, {32, 32}}));
}

}  // namespace
}  // namespace perfvigil::collector
