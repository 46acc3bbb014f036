// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/top_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/window_maker.hpp"

namespace perfvigil::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TopPage, SaysWhatTheProfileSays) {
    test::WindowMaker maker(1);
    const auto profile = maker.make(WallTime(std::chrono::minutes(100)));
    const auto page = top_page(profile, 5, 0);
    const auto totals = function_totals(profile, 0, analyzer::IdleRows::kExclude);
    const auto& event = profile.events[0];
    const auto hottest = profile.functions[totals[0].function].name;
    const double share =
        100 * static_cast<double>(totals[0].self_weight) / static_cast<double>(event.weight - event.idle_weight);
    char expected[32];
    std::snprintf(expected, sizeof expected, "%.1f", share);
    EXPECT_THAT(page, HasSubstr(hottest));
    EXPECT_THAT(page, HasSubstr(expected));
    EXPECT_THAT(page, Not(HasSubstr(profile.functions[totals[5].function].name + " ")));
    EXPECT_THAT(page, HasSubstr("unit-0.service"));
    EXPECT_THAT(page, HasSubstr("cpu-clock, " + std::to_string(event.samples) + " samples"));
    char busy[32];
    std::snprintf(busy, sizeof busy, "%.1f", profile.cpus[1].busy.ratio * 100);
    EXPECT_THAT(page, HasSubstr(busy));
    EXPECT_THAT(page, HasSubstr("60 s recorded"));
}

TEST(TopPage, HasNothingToShow) {
    EXPECT_THAT(top_page({}, 5, 80), HasSubstr("no clock was recorded"));
    analyzer::Profile idle;
    idle.events.push_back({.name = "cpu-clock", .samples = 3, .weight = 30, .idle_samples = 3, .idle_weight = 30});
    EXPECT_THAT(top_page(idle, 5, 80), HasSubstr("nothing but idle"));
}

}  // namespace
}  // namespace perfvigil::cli
