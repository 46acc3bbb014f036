// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace perfvigil::analyzer {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// R. G. Newcombe, Statistics in Medicine 17 (1998), table II, method 10: intervals of p1 − p2.
TEST(DiffStatistics, IntervalsOfChangesAreNewcombes) {
    struct Case {
        double k1, n1, k2, n2, low, high;
    };
    for (const auto& [k1, n1, k2, n2, low, high] :
         {Case{56, 70, 48, 80, 0.0524, 0.3339}, Case{9, 10, 3, 10, 0.1705, 0.8090}, Case{5, 56, 0, 29, -0.0381, 0.1926},
          Case{10, 10, 0, 10, 0.6075, 1.0000}}) {
        const Estimate one{.ratio = k1 / n1, .trials = n1};
        const Estimate two{.ratio = k2 / n2, .trials = n2};
        const Interval interval = change_interval(two, one, {});
        EXPECT_NEAR(interval.low, low, 5e-5) << k1;
        EXPECT_NEAR(interval.high, high, 5e-5) << k1;
    }
}

TEST(DiffStatistics, PIsUnderFivePercentWhereTheIntervalExcludesZero) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(0, 1);
    int excluded = 0;
    for (int i = 0; i < 2000; ++i) {
        const Estimate before{.ratio = unit(random), .trials = 1 + 300 * unit(random)};
        const Estimate after{.ratio = unit(random) < 0.1 ? 0 : unit(random), .trials = 1 + 300 * unit(random)};
        Dispersion dispersion;
        if (i % 2 == 0) dispersion = {.factor = 1 + 10 * unit(random), .freedom = 2 + 30 * unit(random)};
        const Interval interval = change_interval(before, after, dispersion);
        const bool excludes = interval.low > 0 || interval.high < 0;
        excluded += excludes ? 1 : 0;
        EXPECT_EQ(change_p(before, after, dispersion) < 0.05, excludes) << i;
    }
    EXPECT_GT(excluded, 200);
    EXPECT_LT(excluded, 1900);
}

TEST(DiffStatistics, NoChangeIsNoEvidence) {
    EXPECT_EQ(change_p({.ratio = 0.3, .trials = 100}, {.ratio = 0.3, .trials = 1000}, {}), 1);
    EXPECT_EQ(change_p({.ratio = 0, .trials = 0}, {.ratio = 0, .trials = 0}, {}), 1);
}

// Blocks of two among six: 2 2 0 −2 −2, mean square 16/5, three blocks, 6/(6 − 2).
TEST(DiffStatistics, BlockVarianceByHand) {
    EXPECT_EQ(block_length(6), 2U);
    EXPECT_NEAR(block_variance(std::vector<double>{1, 1, 1, -1, -1, -1}), 16.0 / 5 * 3 * 1.5, 1e-12);
    EXPECT_NEAR(block_variance(std::vector<double>{1, -1, 1, -1, 1, -1}), 0, 1e-12);
    EXPECT_EQ(block_variance(std::vector<double>{}), 0);
}

// What resampling blocks with dice gives, on average over many draws.
TEST(DiffStatistics, BlockVarianceIsThatOfTheResampledSum) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    std::vector<double> residuals(27);  // blocks of three
    double mean = 0;
    for (auto& value : residuals) mean += (value = normal(random)) / 27;
    for (auto& value : residuals) value -= mean;
    std::uniform_int_distribution<std::size_t> first(0, 24);
    double sum = 0, squares = 0;
    constexpr int kDraws = 200'000;
    for (int draw = 0; draw < kDraws; ++draw) {
        double total = 0;
        for (int block = 0; block < 9; ++block) {
            const std::size_t at = first(random);
            total += residuals[at] + residuals[at + 1] + residuals[at + 2];
        }
        sum += total;
        squares += total * total;
    }
    const double drawn = squares / kDraws - (sum / kDraws) * (sum / kDraws);
    EXPECT_NEAR(block_variance(residuals) * (1 - 3.0 / 27), drawn, 0.02 * drawn);
}

TEST(DiffStatistics, BlockVarianceIsUnbiasedForIndependentSlices) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (const std::size_t slices : {6U, 20U, 60U}) {
        double average = 0;
        constexpr int kRuns = 20'000;
        for (int run = 0; run < kRuns; ++run) {
            std::vector<double> residuals(slices);
            double mean = 0;
            for (auto& value : residuals) mean += (value = normal(random)) / static_cast<double>(slices);
            for (auto& value : residuals) value -= mean;
            average += block_variance(residuals) / kRuns;
        }
        EXPECT_NEAR(average / static_cast<double>(slices), 1, 0.05) << slices;
    }
}

TEST(DiffStatistics, DispersionIsBetweenSlicesOverSampling) {
    const Dispersion dispersion = dispersion_of(2, {.variance = 3, .freedom = 10}, {.variance = 5, .freedom = 20});
    EXPECT_NEAR(dispersion.factor, 4, 1e-12);
    EXPECT_NEAR(dispersion.freedom, 64.0 / (9.0 / 10 + 25.0 / 20), 1e-12);
    EXPECT_EQ(dispersion_of(0, {.variance = 3, .freedom = 10}, {}).factor, 1);
}

TEST(DiffStatistics, FactorsOfOneKindAreDrawnTogetherAndOutliersStay) {
    std::mt19937_64 random(5);
    std::chi_squared_distribution<double> chi(10);
    std::vector<Dispersion> raw;
    for (int i = 0; i < 200; ++i) raw.push_back({.factor = 4 * chi(random) / 10, .freedom = 10});
    raw.push_back({.factor = 100, .freedom = 10});
    const auto together = moderated(raw, std::vector<double>(raw.size(), 1));
    for (std::size_t i = 0; i < 200; ++i) {
        if (raw[i].factor > 8) continue;
        EXPECT_NEAR(together[i].factor, 4, 1.2);
    }
    EXPECT_EQ(together.back().factor, 100);
    EXPECT_EQ(together.back().freedom, 10);
}

// Factors that grow with the size are drawn to what is usual for their size.
TEST(DiffStatistics, FactorsMayFollowTheSize) {
    std::mt19937_64 random(6);
    std::chi_squared_distribution<double> chi(10);
    std::vector<Dispersion> raw;
    std::vector<double> sizes;
    for (int i = 0; i < 200; ++i) {
        sizes.push_back(std::exp(i * 0.02));
        raw.push_back({.factor = 2 * sizes.back() * chi(random) / 10, .freedom = 10});
    }
    const auto together = moderated(raw, sizes);
    for (std::size_t i = 0; i < 200; ++i) {
        if (raw[i].factor > 4 * sizes[i]) continue;
        EXPECT_NEAR(together[i].factor / sizes[i], 2, 0.7);
    }
}

TEST(DiffStatistics, NothingVariesLessThanSampling) {
    const auto alone = moderated(std::vector<Dispersion>{{.factor = 0.3, .freedom = 5}, {.factor = 3, .freedom = 5}},
                                 std::vector<double>{1, 2});
    EXPECT_EQ(alone[0].factor, 1);
    EXPECT_EQ(alone[0].freedom, std::numeric_limits<double>::infinity());
    EXPECT_EQ(alone[1].factor, 3);
    EXPECT_EQ(alone[1].freedom, 5);
    const std::vector<Dispersion> low(20, {.factor = 0.2, .freedom = 8});
    for (const auto& dispersion : moderated(low, std::vector<double>(20, 1))) EXPECT_EQ(dispersion.factor, 1);
}

TEST(DiffStatistics, FalseDiscoveryRatesByHand) {
    const std::vector<double> p{0.01, 0.04, 0.03, 0.005, 0.9};
    EXPECT_THAT(false_discovery_rates(p),
                ElementsAre(DoubleNear(0.025, 1e-12), DoubleNear(0.05, 1e-12), DoubleNear(0.05, 1e-12),
                            DoubleNear(0.025, 1e-12), DoubleNear(0.9, 1e-12)));
    EXPECT_TRUE(false_discovery_rates({}).empty());
}

// 1.96 + 0.8416 standard deviations of 2·p(1 − p)/n.
TEST(DiffStatistics, TheSmallestChangeThatShows) {
    EXPECT_NEAR(detectable_change(0.5, 1000, 1000, {}, 0.05), 2.80158 * std::sqrt(0.25 * 2 / 1000), 1e-5);
    EXPECT_EQ(detectable_change(0.5, 0, 1000, {}, 0.05), 1);
}

TEST(DiffStatistics, ChiSquaredTail) {
    EXPECT_NEAR(chi_squared_p(3.841459, 1), 0.05, 1e-6);
    EXPECT_NEAR(chi_squared_p(18.307038, 10), 0.05, 1e-6);
    EXPECT_EQ(chi_squared_p(0, 3), 1);
}

}  // namespace
}  // namespace perfvigil::analyzer
