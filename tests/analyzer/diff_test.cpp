// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/diff_profiles.hpp"

namespace perfvigil::analyzer {
namespace {

using test::counted_profile;
using test::CountedProfile;
using test::SliceCounts;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The same counts in each of so many slices.
SliceCounts steady(std::vector<std::uint64_t> counts, std::size_t slices = 12) { return {slices, counts}; }

const DiffRow& row_of(const Diff& diff, std::string_view name) {
    const auto found = std::ranges::find(diff.rows, name, &DiffRow::name);
    if (found == diff.rows.end()) throw std::runtime_error("no row " + std::string(name));
    return *found;
}

Diff diff_of(const Profile& before, const Profile& after, const DiffOptions& options = {}) {
    auto diffs = compare(before, after, options);
    if (!diffs) throw std::runtime_error(diffs.error().message);
    return std::move(diffs->front());
}

std::string refusal(const Profile& before, const Profile& after, const DiffOptions& options = {}) {
    const auto diffs = compare(before, after, options);
    return diffs ? "compared" : diffs.error().message;
}

TEST(Diff, SharesAndAbsoluteValuesByHand) {
    const auto before = counted_profile(steady({70, 30}), {.idle = 20});
    const auto after = counted_profile(steady({60, 60}), {.slice = std::chrono::seconds(10)});
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.before.samples, 1200U);
    EXPECT_EQ(diff.before.idle_samples, 240U);
    const DiffRow& first = row_of(diff, "function_0");
    EXPECT_DOUBLE_EQ(first.share.before, 0.7);
    EXPECT_DOUBLE_EQ(first.share.after, 0.5);
    // 70 samples of 10.101 ms in 5 s, 60 in 10 s.
    EXPECT_NEAR(first.absolute.before, 70 * 0.01010101 / 5, 1e-12);
    EXPECT_NEAR(first.absolute.after, 60 * 0.01010101 / 10, 1e-12);
    EXPECT_TRUE(first.significant);
    const DiffRow& second = row_of(diff, "function_1");
    EXPECT_DOUBLE_EQ(second.share.change(), 0.5 - 0.3);
    // Twice as long for twice as many: its share grew, its CPU time did not.
    EXPECT_NEAR(second.absolute.change(), 0, 1e-12);
    EXPECT_FALSE(second.absolute.excludes_zero());
}

// Weights are time: ten times the samples of a tenth of the period are the same load.
TEST(Diff, RatesMayDiffer) {
    const auto slow = counted_profile(steady({70, 30}), {.period = 10'000'000});
    const auto fast = counted_profile(steady({700, 300}), {.period = 1'000'000});
    const Diff diff = diff_of(fast, slow);
    EXPECT_EQ(diff.significant, 0U);
    for (const auto& row : diff.rows) {
        if (row.name == "main") continue;
        EXPECT_NEAR(row.share.change(), 0, 1e-12);
        EXPECT_NEAR(row.absolute.change(), 0, 1e-12);
    }
}

TEST(Diff, NewAndVanishedFunctionsAreSeen) {
    const auto before = counted_profile(steady({70, 30, 0}));
    const auto after = counted_profile(steady({70, 0, 30}));
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.significant, 2U);
    EXPECT_EQ(row_of(diff, "function_1").samples_after, 0U);
    EXPECT_EQ(row_of(diff, "function_2").samples_before, 0U);
    EXPECT_LT(row_of(diff, "function_1").share.interval.high, -0.2);
    EXPECT_GT(row_of(diff, "function_2").share.interval.low, 0.2);
    EXPECT_FALSE(row_of(diff, "function_0").significant);
}

TEST(Diff, FewSamplesAreShownAndNotJudged) {
    const auto before = counted_profile(steady({100, 0}, 6));
    auto counts = steady({100, 0}, 6);
    for (std::size_t i = 0; i < 5; ++i) counts[i][1] = 1;
    const Diff diff = diff_of(before, counted_profile(counts));
    EXPECT_EQ(diff.tested, 1U);
    EXPECT_EQ(diff.rows.back().name, "function_1");
    EXPECT_FALSE(diff.rows.back().tested);
    EXPECT_FALSE(diff.rows.back().significant);
}

TEST(Diff, EvidenceMakesTheOrder) {
    const auto before = counted_profile(steady({500, 400, 100, 50}));
    const auto after = counted_profile(steady({500, 380, 100, 90}));
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(diff.rows.front().name, "function_3");
    for (std::size_t i = 1; i < diff.rows.size(); ++i) EXPECT_LE(diff.rows[i - 1].share.p, diff.rows[i].share.p);
}

// What varies between slices widens the interval by as much as the slices say.
TEST(Diff, SlicesThatVaryMakeIntervalsWide) {
    SliceCounts restless;
    for (int i = 0; i < 24; ++i)
        restless.push_back(i % 5 < 2 ? std::vector<std::uint64_t>{90, 10} : std::vector<std::uint64_t>{50, 50});
    const Diff noisy = diff_of(counted_profile(restless), counted_profile(restless));
    const Diff calm = diff_of(counted_profile(steady({66, 34}, 24)), counted_profile(steady({66, 34}, 24)));
    const auto width = [](const Diff& diff) {
        const Interval& interval = row_of(diff, "function_0").share.interval;
        return interval.high - interval.low;
    };
    EXPECT_GT(row_of(noisy, "function_0").share.dispersion, 2);
    EXPECT_GT(width(noisy), 1.4 * width(calm));
    EXPECT_EQ(row_of(calm, "function_0").share.dispersion, 1);
}

TEST(Diff, FewSlicesLeaveSamplingErrorAlone) {
    const auto few = counted_profile(steady({70, 30}, 5), {.id = "short"});
    const auto many = counted_profile(steady({60, 40}, 12));
    const Diff diff = diff_of(few, many);
    EXPECT_TRUE(diff.sampling_error_only);
    EXPECT_EQ(diff.why_sampling_only, "short has 5 slices, and it takes 6 to see what varies between them");
    EXPECT_EQ(diff.rows.front().share.dispersion, 1);
    EXPECT_FALSE(diff_of(many, many).sampling_error_only);
}

TEST(Diff, SlicesOfSomethingElseAreNotUsed) {
    const auto whole = counted_profile(steady({70, 30}), {.id = "whole"});
    auto selected = whole;
    selected.id = "selected";
    selected.filter = "--comm other";
    selected.samples[0].samples /= 2;
    selected.samples[0].weight /= 2;
    const Diff diff = diff_of(whole, selected);
    EXPECT_TRUE(diff.sampling_error_only);
    EXPECT_THAT(diff.why_sampling_only, HasSubstr("selected hold something else"));
    // A selection that took whole functions out fits.
    auto without = whole;
    without.samples.erase(without.samples.begin());
    EXPECT_FALSE(diff_of(without, without).sampling_error_only);
}

TEST(Diff, AddressesWithoutNamesAreLeftOutAndCounted) {
    auto before = counted_profile(steady({60, 20, 20}));
    before.functions[2].reason = UnknownReason::kNoSymbols;
    before.functions[2].name = "[unknown]";
    const Diff diff = diff_of(before, before);
    EXPECT_EQ(diff.rows.size(), 2U);
    EXPECT_DOUBLE_EQ(diff.before.unresolved, 0.2);
    // Shares are of everything, as perf's are.
    EXPECT_DOUBLE_EQ(row_of(diff, "function_0").share.before, 0.6);
}

TEST(Diff, FunctionsAreOneByNameAndBaseNameAndKernel) {
    auto before = counted_profile(steady({60, 40}));
    auto after = before;
    for (auto& function : after.functions) function.dso = "/opt/other/program";
    after.functions[1].kernel = true;
    const Diff diff = diff_of(before, after);
    EXPECT_EQ(row_of(diff, "function_0").samples_after, 720U);
    EXPECT_EQ(std::ranges::count(diff.rows, "function_1", &DiffRow::name), 2);
}

TEST(Diff, TheSmallestChangeIsSaid) {
    const auto profile = counted_profile(steady({70, 30}));
    const Diff diff = diff_of(profile, profile);
    ASSERT_EQ(diff.detectable.size(), 3U);
    EXPECT_LT(diff.detectable[0].change, diff.detectable[2].change);
    // A change of that size is found about four times in five: here 1200 samples, half.
    EXPECT_NEAR(diff.detectable[2].change, (2.2414 + 0.8416) * std::sqrt(0.25 * 2 / 1200), 2e-4);
}

TEST(Diff, OtherDivisionsAreComparedToo) {
    auto before = counted_profile(steady({70, 30}));
    before.contexts.push_back({.comm = "helper", .unit = "", .container = ""});
    before.samples[1].context = 1;
    auto after = before;
    after.samples[1].context = 0;
    const Diff by_comm = diff_of(before, after, {.event = {}, .by = DiffBy::kComm});
    EXPECT_EQ(row_of(by_comm, "helper").samples_after, 0U);
    EXPECT_DOUBLE_EQ(row_of(by_comm, "program").share.change(), 0.3);
    EXPECT_FALSE(by_comm.sampling_error_only);
    EXPECT_EQ(row_of(diff_of(before, after, {.event = {}, .by = DiffBy::kUnit}), "").samples_before, 360U);
    const Diff by_dso = diff_of(before, after, {.event = {}, .by = DiffBy::kDso});
    EXPECT_EQ(by_dso.rows.size(), 1U);
    EXPECT_EQ(by_dso.rows[0].name, "program");
    EXPECT_DOUBLE_EQ(by_dso.rows[0].share.after, 1);
}

TEST(Diff, AbsoluteEvidenceIsOfTheLoad) {
    const auto before = counted_profile(steady({70, 30}));
    const auto after = counted_profile(steady({140, 60}));
    EXPECT_EQ(diff_of(before, after).significant, 0U);
    const Diff diff = diff_of(before, after, {.event = {}, .measure = DiffMeasure::kAbsolute});
    EXPECT_EQ(diff.significant, 2U);
    auto timeless = after;
    timeless.duration = {};
    EXPECT_THAT(refusal(before, timeless, {.event = {}, .measure = DiffMeasure::kAbsolute}),
                HasSubstr("absolute values need"));
    EXPECT_FALSE(diff_of(before, timeless).absolute_known);
}

TEST(Diff, TheOtherWayRoundIsTheOpposite) {
    std::mt19937_64 random(9);
    const test::LoadModel model{.shares = {5, 3, 2, 1, 1, 0.5}, .slices = 15, .samples_per_slice = 200, .spread = 0.3};
    const auto one = counted_profile(test::draw_counts(model, random));
    const auto two = counted_profile(test::draw_counts(model, random));
    const Diff forth = diff_of(one, two);
    const Diff back = diff_of(two, one);
    ASSERT_EQ(forth.rows.size(), back.rows.size());
    for (const auto& row : forth.rows) {
        const DiffRow& other = row_of(back, row.name);
        for (const auto which : {&DiffRow::share, &DiffRow::absolute}) {
            EXPECT_NEAR((row.*which).interval.low, -(other.*which).interval.high, 1e-9);
            EXPECT_NEAR((row.*which).p, (other.*which).p, 1e-9);
            EXPECT_NEAR((row.*which).dispersion, (other.*which).dispersion, 1e-9);
        }
    }
}

// --- refusals

TEST(Diff, WhySlicesAreMissingIsSaid) {
    auto before = counted_profile(steady({60, 40}));
    before.moments.clear();
    const auto untimed = diff_of(before, before);
    EXPECT_TRUE(untimed.sampling_error_only);
    EXPECT_THAT(untimed.why_sampling_only, HasSubstr("does not say when its samples were taken"));
    before.filter = "--comm x";
    EXPECT_THAT(diff_of(before, before).why_sampling_only, HasSubstr("a selection by name cannot divide them"));
}

class DiffRefusal : public testing::Test {
protected:
    Profile before = counted_profile(steady({70, 30}), {.id = "before"});
    Profile after = counted_profile(steady({60, 40}), {.id = "after"});
    DiffOptions forced{.event = {}, .caution = DiffCaution::kForce};
};

TEST_F(DiffRefusal, AnotherEvent) {
    after.events[0].name = "cycles";
    EXPECT_EQ(refusal(before, after),
              "before counts cpu-clock, after counts cycles; --force compares them all the same");
    EXPECT_EQ(refusal(before, after, forced), "compared");
    EXPECT_EQ(refusal(before, after, {.event = "cycles"}),
              "nothing to compare: before holds cpu-clock, after holds cycles");
}

TEST_F(DiffRefusal, AnotherUnit) {
    after.events[0].unit = WeightUnit::kEvents;
    EXPECT_EQ(refusal(before, after),
              "before weighs cpu-clock by time, after by counts of events; --force compares "
              "them all the same");
    const Diff diff = diff_of(before, after, forced);
    EXPECT_FALSE(diff.absolute_known);
    EXPECT_THAT(diff.notes, testing::Contains(HasSubstr("Forced: before weighs")));
}

TEST_F(DiffRefusal, Fallback) {
    after.degraded.push_back({.reason = "no_pmu", .detail = {}, .remedy = {}});
    EXPECT_THAT(refusal(before, after), HasSubstr("after was recorded without a cycle counter (no_pmu)"));
    EXPECT_EQ(refusal(before, after, {.event = "cpu-clock"}), "compared");
    EXPECT_EQ(refusal(before, after, forced), "compared");
    before.degraded = after.degraded;
    EXPECT_EQ(refusal(before, after), "compared");
}

TEST_F(DiffRefusal, LostSamples) {
    after.events[0].lost = 12;  // exactly 1 % of all is not over it
    after.events[0].samples = 1188;
    EXPECT_EQ(refusal(before, after), "compared");
    after.events[0].lost = 13;
    EXPECT_THAT(refusal(before, after), HasSubstr("1.1 % of the cpu-clock samples of after were lost"));
    EXPECT_EQ(refusal(before, after, forced), "compared");
}

TEST_F(DiffRefusal, NothingBusy) {
    after = counted_profile(steady({0, 0}), {.id = "after", .idle = 10});
    EXPECT_EQ(refusal(before, after, forced),
              "nothing to compare: before holds cpu-clock, after holds no busy samples");
}

TEST_F(DiffRefusal, WhatElseDiffersIsSaid) {
    EXPECT_THAT(diff_of(before, after).notes, IsEmpty());
    after.host.cpus_online = 4;
    after.partial = true;
    after.rounded = true;
    before.filter = "--comm x";
    EXPECT_THAT(
        diff_of(before, after).notes,
        ElementsAre(HasSubstr("before is a selection (--comm x)"), HasSubstr("made from a printed report"),
                    HasSubstr("after covers 60.0 s"), HasSubstr("1 and 4 CPUs"), HasSubstr("selected differently")));
}

TEST_F(DiffRefusal, SidesThatOverlapAreNamed) {
    for (auto* side : {&before, &after}) {
        side->host.hostname = "box";
        side->start = WallTime(std::chrono::seconds(1000));
        side->end = WallTime(std::chrono::seconds(1060));
    }
    EXPECT_THAT(diff_of(before, after).notes, ElementsAre(HasSubstr("The sides have 60.0 s in common")));
    after.start = WallTime(std::chrono::seconds(1050));
    after.end = WallTime(std::chrono::seconds(1110));
    EXPECT_THAT(diff_of(before, after).notes, ElementsAre(HasSubstr("The sides have 10.0 s in common")));
    after.host.hostname = "other";
    EXPECT_THAT(diff_of(before, after).notes, IsEmpty());
    after.host.hostname = "box";
    after.start = WallTime(std::chrono::seconds(1060));
    after.end = WallTime(std::chrono::seconds(1120));
    EXPECT_THAT(diff_of(before, after).notes, IsEmpty()) << "one after the other";
}

TEST_F(DiffRefusal, TheSameFileTwiceIsNamed) {
    EXPECT_THAT(diff_of(before, before).notes, ElementsAre("Both sides hold the same samples."));
}

// --- totals

// parent calls left and right, which change places: its total stays.
Profile parent_profile(std::uint64_t left, std::uint64_t right, std::string id) {
    auto profile = counted_profile(steady({left, right, 50}), {.id = std::move(id)});
    const auto parent = static_cast<std::uint32_t>(profile.functions.size());
    profile.functions.push_back({.name = "parent", .dso = "/usr/bin/program"});
    for (std::size_t i = 0; i < 2; ++i) {
        profile.stacks[i].functions.insert(profile.stacks[i].functions.begin() + 1, parent);
    }
    return profile;
}

TEST(DiffTotal, AParentWhoseChildrenChangedPlacesShows) {
    const Diff diff =
        diff_of(parent_profile(70, 30, "b"), parent_profile(30, 70, "a"), {.event = {}, .by = DiffBy::kTotal});
    const DiffRow& parent = row_of(diff, "parent");
    EXPECT_DOUBLE_EQ(parent.share.before, 100.0 / 150);
    EXPECT_DOUBLE_EQ(parent.share.change(), 0);
    EXPECT_FALSE(parent.significant);
    EXPECT_TRUE(row_of(diff, "function_0").significant);
    ASSERT_EQ(diff.callees.size(), 1U);
    EXPECT_EQ(diff.callees[0].name, "parent");
    ASSERT_EQ(diff.callees[0].callees.size(), 2U);
    EXPECT_NEAR(std::abs(diff.callees[0].callees[0].after - diff.callees[0].callees[0].before), 0.4, 1e-12);
    EXPECT_TRUE(diff.anything_changed());
}

TEST(DiffTotal, TheSameDivisionIsNoChange) {
    const Diff diff =
        diff_of(parent_profile(70, 30, "b"), parent_profile(72, 29, "a"), {.event = {}, .by = DiffBy::kTotal});
    EXPECT_THAT(diff.callees, IsEmpty());
    EXPECT_FALSE(diff.anything_changed());
    EXPECT_DOUBLE_EQ(row_of(diff, "main").share.before, 1);
}

TEST(DiffTotal, RecursionCountsOnce) {
    auto profile = counted_profile(steady({100, 20}));
    profile.stacks[0].functions = {0, 0, 0, 2};
    const Diff diff = diff_of(profile, profile, {.event = {}, .by = DiffBy::kTotal});
    EXPECT_EQ(row_of(diff, "function_0").samples_before, 1200U);
    EXPECT_DOUBLE_EQ(row_of(diff, "function_0").share.before, 100.0 / 120);
}

}  // namespace
}  // namespace perfvigil::analyzer
