// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/hot_functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Profile calls() {
    return ProfileMaker()
        .add("main;parse;copy", 40)
        .add("main;scan;copy", 20)
        .add("main;copy;fault", 10)
        .add("main;walk;walk;walk;copy", 5)
        .add("main;walk;walk;mark", 6)
        .add("copy", 2)
        .idle("idle", 50)
        .build();
}

std::vector<HotFunction> hot(const Profile& profile, std::size_t most, double least_weight) {
    return hot_functions(profile, 0, IdleRows::kExclude, function_totals(profile, 0, IdleRows::kExclude), most,
                         least_weight, {.least_share = 0});
}

std::vector<std::string> callees(const Profile& profile, const HotFunction& function) {
    std::vector<std::string> text;
    for (const auto& callee : function.callees) {
        text.push_back(profile.functions[callee.function].name + " " + std::to_string(callee.samples));
        EXPECT_EQ(callee.weight, callee.samples * ProfileMaker::kTick);
    }
    return text;
}

TEST(HotFunctions, TheHottestFirstDownToALeastWeight) {
    const auto profile = calls();
    const auto all = hot(profile, 10, 0);
    std::vector<std::string> names;
    for (const auto& function : all) names.push_back(profile.functions[function.totals.function].name);
    EXPECT_THAT(names, ElementsAre("copy", "fault", "mark"));  // never sampled itself: not hot
    EXPECT_EQ(hot(profile, 1, 0).size(), 1U);
    EXPECT_EQ(hot(profile, 10, 10 * ProfileMaker::kTick).size(), 2U);
    EXPECT_THAT(hot({}, 10, 0), IsEmpty());
}

TEST(HotFunctions, CallersOfItsOwnSamples) {
    const auto profile = calls();
    const auto all = hot(profile, 10, 0);
    const auto& copy = all[0];
    EXPECT_EQ(copy.totals.self_samples, 67U);
    EXPECT_EQ(copy.totals.total_samples, 77U);
    std::uint64_t sum = copy.callers.root_end_samples + copy.callers.hidden_samples;
    for (const auto& row : copy.callers.rows) sum += row.depth == 0 ? row.samples : 0;
    EXPECT_EQ(sum, copy.totals.self_samples);
    EXPECT_EQ(copy.callers.root_end_samples, 2U);
    ASSERT_EQ(copy.callers.rows.size(), 3U);
    EXPECT_EQ(copy.callers.rows[0].samples, 40U);
    EXPECT_EQ(profile.functions[copy.callers.rows[0].functions[0]].name, "parse");
    EXPECT_EQ(copy.callers.rows[2].functions.size(), 4U);  // walk walk walk main
}

TEST(HotFunctions, CalleesCountASampleOnceAndNoRecursion) {
    const auto profile = calls();
    const auto all = hot(profile, 10, 0);
    EXPECT_THAT(callees(profile, all[0]), ElementsAre("fault 10"));
    EXPECT_THAT(callees(profile, all[2]), IsEmpty());
    const auto recursion =
        ProfileMaker().add("walk;walk;mark", 3).add("walk;sweep;walk;mark", 4).add("walk", 9).build();
    const auto walks = hot(recursion, 1, 0);
    EXPECT_THAT(callees(recursion, walks.at(0)), ElementsAre("sweep 4", "mark 3"));
}

TEST(HotFunctions, NamelessFramesInARowAreOne) {
    const std::string nameless = "[unknown]@/lib/libx.so;";
    const auto profile = ProfileMaker()
                             .add("main;" + nameless + nameless + nameless + "copy", 5)
                             .add("main;" + nameless + "copy", 4)
                             .add("main;" + nameless + "[unknown]@/lib/libx.so", 3)
                             .add("main;main;copy", 2)  // a named recursion is one
                             .build();
    const auto all = hot(profile, 10, 0);
    ASSERT_EQ(all.size(), 2U);
    ASSERT_EQ(all[0].callers.rows.size(), 2U);
    EXPECT_EQ(all[0].callers.rows[0].functions.size(), 2U);
    EXPECT_EQ(all[0].callers.rows[0].samples, 9U);
    EXPECT_EQ(all[0].callers.rows[1].functions.size(), 2U);
    ASSERT_EQ(all[1].callers.rows.size(), 1U);
    EXPECT_EQ(all[1].callers.rows[0].functions.size(), 1U);
    const auto focus = focus_on(profile, "main", IdleRows::kExclude, {.least_share = 0}).at(0);
    EXPECT_EQ(focus.callees.rows.at(0).samples, 12U);
}

TEST(FocusOn, BothTreesOfAFunction) {
    const auto profile = calls();
    const auto focus = focus_on(profile, "copy", IdleRows::kExclude, {.least_share = 0}).at(0);
    EXPECT_THAT(focus.functions, ElementsAre(test::function_number(profile, "copy")));
    EXPECT_EQ(focus.totals.self_samples, 67U);
    EXPECT_EQ(focus.totals.total_samples, 77U);
    EXPECT_EQ(focus.callees.root_end_samples, 67U);
    ASSERT_EQ(focus.callees.rows.size(), 1U);
    EXPECT_EQ(profile.functions[focus.callees.rows[0].functions[0]].name, "fault");
    // With it on the stack, not only in it: main calls copy directly only on the way to fault.
    std::uint64_t from_main = 0;
    for (const auto& row : focus.callers.rows) {
        if (row.depth == 0 && profile.functions[row.functions[0]].name == "main") from_main = row.samples;
    }
    EXPECT_EQ(from_main, 10U);
}

TEST(FocusOn, SeveralFunctionsAreOne) {
    const auto focus = focus_on(calls(), "[ps]*a[rn]*", IdleRows::kExclude, {.least_share = 0}).at(0);
    EXPECT_EQ(focus.functions.size(), 2U);  // parse, scan
    EXPECT_EQ(focus.totals.total_samples, 60U);
    EXPECT_EQ(focus.totals.self_samples, 0U);
    ASSERT_EQ(focus.callers.rows.size(), 1U);
    EXPECT_EQ(focus.callers.rows[0].samples, 60U);
}

TEST(FocusOn, NothingMatches) {
    EXPECT_THAT(focus_on(calls(), "cpy", IdleRows::kExclude, {}).at(0).functions, IsEmpty());
    EXPECT_THAT(focus_matches_nothing(calls(), "cpy"), HasSubstr("--focus cpy matches no function; there is copy"));
    // Idle only: there is such a function, but not in what is shown.
    EXPECT_THAT(focus_on(calls(), "idle", IdleRows::kExclude, {}).at(0).functions, IsEmpty());
    EXPECT_EQ(focus_on(calls(), "idle", IdleRows::kInclude, {}).at(0).functions.size(), 1U);
}

}  // namespace
}  // namespace perfvigil::analyzer
