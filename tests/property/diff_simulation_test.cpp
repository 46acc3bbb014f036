// SPDX-License-Identifier: GPL-2.0-or-later
// What a comparison says of pairs whose truth is known, many times over: how often it sees a change where there is
// none, and how often its intervals hold the change that there is. Fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "analyzer/diff.hpp"
#include "tests/support/diff_profiles.hpp"

namespace perfvigil::analyzer {
namespace {

using test::counted_profile;
using test::draw_counts;
using test::LoadModel;

constexpr int kPairs = 2000;

// Shares that fall by a fifth from function to function, as hot spots do.
std::vector<double> falling_shares(std::size_t functions) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < functions; ++i) shares.push_back(std::pow(0.8, static_cast<double>(i)));
    return shares;
}

struct Flags {
    double share_intervals = 0;  // of those tested: excluding 0
    double rate_intervals = 0;
    double pairs = 0;  // with anything in the list
};

Flags flags_of_null_pairs(const LoadModel& model, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    int tested = 0, by_share = 0, by_rate = 0, pairs = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        const auto before = counted_profile(draw_counts(model, random));
        const auto after = counted_profile(draw_counts(model, random));
        const auto diffs = compare(before, after, {});
        if (!diffs) throw std::runtime_error(diffs.error().message);
        for (const auto& row : diffs->front().rows) {
            if (!row.tested) continue;
            ++tested;
            by_share += row.share.excludes_zero() ? 1 : 0;
            by_rate += row.absolute.excludes_zero() ? 1 : 0;
        }
        pairs += diffs->front().significant > 0 ? 1 : 0;
    }
    return {.share_intervals = 1.0 * by_share / tested,
            .rate_intervals = 1.0 * by_rate / tested,
            .pairs = 1.0 * pairs / kPairs};
}

void expect_calibrated(const Flags& flags) {
    EXPECT_GE(flags.share_intervals, 0.03);
    EXPECT_LE(flags.share_intervals, 0.07);
    EXPECT_GE(flags.rate_intervals, 0.03);
    EXPECT_LE(flags.rate_intervals, 0.07);
    EXPECT_GE(flags.pairs, 0.03);
    EXPECT_LE(flags.pairs, 0.07);
    std::printf("intervals %.2f %% (shares), %.2f %% (rates); pairs %.2f %%\n", 100 * flags.share_intervals,
                100 * flags.rate_intervals, 100 * flags.pairs);
}

TEST(DiffSimulation, NullPairsWithoutVariation) {
    expect_calibrated(flags_of_null_pairs({.shares = falling_shares(20), .slices = 20, .samples_per_slice = 300}, 11));
}

TEST(DiffSimulation, NullPairsThatVaryFromSliceToSlice) {
    expect_calibrated(
        flags_of_null_pairs({.shares = falling_shares(20), .slices = 20, .samples_per_slice = 300, .spread = 0.4}, 12));
}

// Blocks of four slices hold most of what neighbours have in common, not all of it.
TEST(DiffSimulation, NullPairsWhoseSlicesResembleTheirNeighbours) {
    const LoadModel model{
        .shares = falling_shares(20), .slices = 40, .samples_per_slice = 150, .spread = 0.4, .persistence = 0.3};
    expect_calibrated(flags_of_null_pairs(model, 13));
    if (std::getenv("PERFVIGIL_LONG") == nullptr) return;
    for (std::uint64_t seed = 101; seed <= 106; ++seed) expect_calibrated(flags_of_null_pairs(model, seed));
}

TEST(DiffSimulation, NullPairsOfAFewSlices) {
    expect_calibrated(
        flags_of_null_pairs({.shares = falling_shares(15), .slices = 8, .samples_per_slice = 400, .spread = 0.3}, 14));
}

struct Coverage {
    double share = 0;
    double rate = 0;
    double found = 0;
};

Coverage coverage_of_planted(LoadModel model, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    int covered_share = 0, covered_rate = 0, found = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        model.shares = {0.7, 0.3};
        const auto before = counted_profile(draw_counts(model, random));
        model.shares = {0.6, 0.4};
        const auto after = counted_profile(draw_counts(model, random));
        const auto diffs = compare(before, after, {});
        if (!diffs) throw std::runtime_error(diffs.error().message);
        const double per_second = static_cast<double>(model.samples_per_slice) * 10'101'010 / 5e9;
        for (const auto& row : diffs->front().rows) {
            if (row.name != "function_0") continue;
            covered_share += row.share.interval.low <= -0.1 && -0.1 <= row.share.interval.high ? 1 : 0;
            covered_rate +=
                row.absolute.interval.low <= -0.1 * per_second && -0.1 * per_second <= row.absolute.interval.high ? 1
                                                                                                                  : 0;
            found += row.significant ? 1 : 0;
        }
    }
    return {.share = 1.0 * covered_share / kPairs, .rate = 1.0 * covered_rate / kPairs, .found = 1.0 * found / kPairs};
}

TEST(DiffSimulation, APlantedChangeIsFoundAndItsIntervalHoldsIt) {
    const Coverage steady = coverage_of_planted({.shares = {}, .slices = 20, .samples_per_slice = 495}, 21);
    EXPECT_GE(steady.share, 0.93);
    EXPECT_LE(steady.share, 0.97);
    EXPECT_GE(steady.rate, 0.93);
    EXPECT_EQ(steady.found, 1);
    std::printf("covered %.2f %% (shares), %.2f %% (rates)\n", 100 * steady.share, 100 * steady.rate);
}

// With two functions the log-normal factors move the mean share a little: the truth is that mean.
TEST(DiffSimulation, APlantedChangeAmongVaryingSlices) {
    LoadModel model{.shares = {0.7, 0.3}, .slices = 200'000, .samples_per_slice = 1000, .spread = 0.2};
    std::mt19937_64 random(22);
    const auto mean_share = [&](std::vector<double> shares) {
        model.shares = std::move(shares);
        double first = 0;
        for (const auto& slice : draw_counts(model, random)) first += static_cast<double>(slice[0]);
        return first / static_cast<double>(model.slices * model.samples_per_slice);
    };
    const double truth = mean_share({0.6, 0.4}) - mean_share({0.7, 0.3});
    model.slices = 20;
    model.samples_per_slice = 495;
    int covered = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        model.shares = {0.7, 0.3};
        const auto before = counted_profile(draw_counts(model, random));
        model.shares = {0.6, 0.4};
        const auto after = counted_profile(draw_counts(model, random));
        const auto diffs = compare(before, after, {});
        ASSERT_TRUE(diffs);
        for (const auto& row : diffs->front().rows) {
            if (row.name != "function_0") continue;
            covered += row.share.interval.low <= truth && truth <= row.share.interval.high ? 1 : 0;
        }
    }
    EXPECT_GE(1.0 * covered / kPairs, 0.93);
    EXPECT_LE(1.0 * covered / kPairs, 0.97);
    std::printf("covered %.2f %%\n", 100.0 * covered / kPairs);
}

// Slices that list 200 of 260 functions: the others are small, not steady.
TEST(DiffSimulation, NullPairsWithFunctionsThatSlicesDoNotList) {
    LoadModel model{.shares = {}, .slices = 12, .samples_per_slice = 2000, .spread = 0.5};
    for (int i = 0; i < 260; ++i) model.shares.push_back(1 + (i < 30 ? 20 : 0));
    std::mt19937_64 random(31);
    int tested = 0, flagged = 0;
    for (int pair = 0; pair < 100; ++pair) {
        const auto before = counted_profile(draw_counts(model, random));
        const auto after = counted_profile(draw_counts(model, random));
        const auto diffs = compare(before, after, {});
        ASSERT_TRUE(diffs);
        ASSERT_FALSE(diffs->front().sampling_error_only);
        for (const auto& row : diffs->front().rows) {
            tested += row.tested ? 1 : 0;
            flagged += row.tested && row.share.excludes_zero() ? 1 : 0;
        }
    }
    EXPECT_GT(tested, 20'000);
    EXPECT_LE(1.0 * flagged / tested, 0.07);
    EXPECT_GE(1.0 * flagged / tested, 0.005);
    std::printf("intervals %.2f %%\n", 100.0 * flagged / tested);
}

}  // namespace
}  // namespace perfvigil::analyzer
