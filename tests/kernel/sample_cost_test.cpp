// SPDX-License-Identifier: GPL-2.0-or-later
// The cost of a sample on this kernel.
#include "collector/sample_cost.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <vector>

namespace perfvigil::collector {
namespace {

using Sampling = SampledWork::Sampling;

TEST(SampleCostKernel, SamplesComeAndTheThreadIsFreeAgain) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
    {
        const auto work = make_sampled_work(live_kernel(), system_clock());
        if (!work) GTEST_SKIP() << work.error().message;
        cpu_set_t during;
        ASSERT_EQ(::sched_getaffinity(0, sizeof(during), &during), 0);
        EXPECT_EQ(CPU_COUNT(&during), 1);
        EXPECT_EQ((*work)->run(Sampling::kOff).samples, 0U);
        // A sample every 50 µs of the work's time, which is a millisecond plus what the samples themselves cost: where
        // one costs nearly 50 µs, hundreds. The timer never comes more often; it comes more seldom where time is
        // stolen.
        std::vector<double> periods;
        for (int i = 0; i < 21; ++i) {
            const WorkPhase phase = (*work)->run(Sampling::kOn);
            ASSERT_GE(phase.samples, 10U);
            periods.push_back(to_seconds(phase.elapsed) / static_cast<double>(phase.samples));
        }
        std::ranges::nth_element(periods, periods.begin() + 10);
        EXPECT_GE(periods[10], 45e-6);
        EXPECT_LE(periods[10], 120e-6);
        EXPECT_EQ((*work)->run(Sampling::kOff).samples, 0U) << "off is off";
    }
    cpu_set_t after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(SampleCostKernel, ThreeCalibrationsAgree) {
    std::vector<std::int64_t> costs;
    for (int i = 0; i < 3; ++i) {
        const SampleCost cost = calibrate_sample_cost(system_clock());
        if (cost.assumed) GTEST_SKIP() << cost.why;
        EXPECT_GE(cost.value, kLeastSampleCost);
        EXPECT_LE(cost.value, kMostSampleCost);
        costs.push_back(cost.value.count());
        RecordProperty("nanoseconds_" + std::to_string(i), std::to_string(cost.value.count()));
    }
    const auto [least, most] = std::ranges::minmax(costs);
    EXPECT_LT(static_cast<double>(most), 2.0 * static_cast<double>(least));
}

}  // namespace
}  // namespace perfvigil::collector
