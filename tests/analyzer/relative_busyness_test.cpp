// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/relative_busyness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

ProfileCpu cpu_with(std::uint64_t samples, std::uint64_t counted, std::uint64_t sampled = 0) {
    ProfileCpu cpu;
    cpu.sum.samples = samples;
    cpu.sum.cycles_recorded = counted > 0;
    cpu.sum.cycles_counted = counted;
    cpu.sum.cycles_sampled = sampled;
    return cpu;
}

TEST(RelativeBusyness, IsAShareAgainstAShare) {
    const std::vector cpus{cpu_with(990, 3'000), cpu_with(990, 1'000)};
    EXPECT_THAT(relative_busyness(cpus), ElementsAre(DoubleEq(1.5), DoubleEq(0.5)));
}

TEST(RelativeBusyness, AlikeIsOneHoweverBusy) {
    EXPECT_THAT(relative_busyness(std::vector{cpu_with(990, 10), cpu_with(990, 10)}), ElementsAre(1, 1));
    EXPECT_THAT(relative_busyness(std::vector{cpu_with(990, 5'000'000), cpu_with(990, 5'000'000)}), ElementsAre(1, 1));
}

TEST(RelativeBusyness, OfCapturesWithoutReadingsBySamples) {
    const std::vector cpus{cpu_with(100, 0, 300), cpu_with(300, 0, 100)};
    EXPECT_THAT(relative_busyness(cpus), ElementsAre(DoubleEq(3), DoubleEq(1.0 / 3)));
}

TEST(RelativeBusyness, IsAbsentWithoutEither) {
    EXPECT_THAT(relative_busyness(std::vector{cpu_with(990, 0), cpu_with(990, 0)}), ElementsAre(0, 0));
    EXPECT_THAT(relative_busyness(std::vector{cpu_with(0, 10), cpu_with(990, 10)}), ElementsAre(0, DoubleEq(0.5)));
    EXPECT_TRUE(relative_busyness({}).empty());
}

}  // namespace
}  // namespace perfvigil::analyzer
