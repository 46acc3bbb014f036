// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

// main → recurse → recurse → leaf, and samples of two events.
Profile recursion() {
    Profile profile;
    profile.events.resize(2);
    for (const char* name : {"main", "recurse", "leaf", "idle", "never"}) {
        profile.functions.push_back({.name = name, .dso = "/bin/x"});
    }
    profile.stacks = {{.functions = {2, 1, 1, 0}}, {.functions = {1, 1, 0}}, {.functions = {3}}, {.functions = {}}};
    profile.contexts.resize(1);
    profile.samples = {
        {.event = 0, .stack = 0, .samples = 2, .weight = 20},
        {.event = 0, .stack = 1, .samples = 3, .weight = 30},
        {.event = 0, .stack = 2, .idle = true, .samples = 9, .weight = 90},
        {.event = 0, .stack = 3, .samples = 1, .weight = 10},
        {.event = 1, .stack = 0, .samples = 7, .weight = 70},
    };
    return profile;
}

TEST(FunctionTotals, RecursionCountsOncePerSample) {
    const auto rows = function_totals(recursion(), 0, IdleRows::kExclude);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].function, 1U);
    EXPECT_EQ(rows[0].self_samples, 3U);
    EXPECT_EQ(rows[0].self_weight, 30U);
    EXPECT_EQ(rows[0].total_samples, 5U);
    EXPECT_EQ(rows[0].total_weight, 50U);
    EXPECT_EQ(rows[1].function, 2U);
    EXPECT_EQ(rows[1].self_weight, 20U);
    EXPECT_EQ(rows[1].total_weight, 20U);
    EXPECT_EQ(rows[2].function, 0U);
    EXPECT_EQ(rows[2].self_weight, 0U);
    EXPECT_EQ(rows[2].total_weight, 50U);
}

TEST(FunctionTotals, IdleOnRequestAndEachEventAlone) {
    const auto with_idle = function_totals(recursion(), 0, IdleRows::kInclude);
    ASSERT_EQ(with_idle.size(), 4U);
    EXPECT_EQ(with_idle[0].function, 3U);
    EXPECT_EQ(with_idle[0].self_samples, 9U);
    const auto other = function_totals(recursion(), 1, IdleRows::kExclude);
    ASSERT_EQ(other.size(), 3U);
    EXPECT_EQ(other[0].self_weight, 70U);
    EXPECT_TRUE(function_totals(recursion(), 2, IdleRows::kInclude).empty());
}

}  // namespace
}  // namespace perfvigil::analyzer
