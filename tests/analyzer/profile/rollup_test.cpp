// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/rollup.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

// main ─ work ─ hot 99 000; each of the others once or so, of 100 000 ns.
Profile profile() {
    Profile p;
    p.events.push_back({.name = "cpu-clock", .unit = WeightUnit::kNanoseconds, .samples = 100, .weight = 100'000});
    for (const auto* name : {"hot", "work", "main", "rare", "other"}) {
        p.functions.push_back({.name = name, .dso = "program"});
    }
    p.stacks = {{.functions = {0, 1, 2}}, {.functions = {0, 4, 2}}, {.functions = {3, 1, 2}}, {.functions = {0}}};
    p.contexts = {{.comm = "one", .unit = "a.service", .container = ""},
                  {.comm = "job-17", .unit = "a.service", .container = ""},
                  {.comm = "job-18", .unit = "a.service", .container = ""}};
    const auto row = [](std::uint32_t stack, std::uint32_t context, std::uint64_t weight) {
        return ProfileSample{.event = 0, .stack = stack, .context = context, .samples = 1, .weight = weight};
    };
    p.samples = {row(0, 0, 99'980), row(1, 0, 5), row(2, 1, 7), row(1, 2, 2), row(2, 2, 1), row(3, 0, 5)};
    p.moments.push_back({.wall_end = {}, .length = std::chrono::seconds(5), .totals = {{}}, .cpus = {}, .top = {}});
    p.moments[0].top = {{0, 0, 4, 99'992}, {0, 3, 2, 8}};
    return p;
}

TEST(RollupTest, SmallChainsKeepTheirLeafWhereItWeighsEnough) {
    auto p = profile();
    roll_up(p, {.least_share = 0.0001});
    // "other" and "rare" went, with the callers that only they had.
    ASSERT_EQ(p.functions.size(), 4U);
    EXPECT_EQ(p.functions.back().name, kPruned);
    std::vector<std::pair<std::string, std::uint64_t>> rows;
    for (const auto& sample : p.samples) {
        std::string text;
        for (const auto function : p.stacks[sample.stack].functions) text += p.functions[function].name + ";";
        rows.emplace_back(text + p.contexts[sample.context].comm, sample.weight);
    }
    const std::vector<std::pair<std::string, std::uint64_t>> expected{{"hot;work;main;one", 99'980},
                                                                      {"hot;(pruned);one", 5},
                                                                      {"(pruned);(pruned)", 8},
                                                                      {"hot;(pruned);(pruned)", 2},
                                                                      {"hot;one", 5}};
    EXPECT_EQ(rows, expected);
    for (const auto& stack : p.stacks) {
        const bool pruned = p.functions[stack.functions.back()].name == kPruned;
        EXPECT_EQ((stack.flags & kStackCut) != 0, pruned);
    }
    // The timeline says the same: a row of a function without weight would contradict the profile.
    ASSERT_EQ(p.moments[0].top.size(), 2U);
    EXPECT_EQ(p.functions[p.moments[0].top[1].function].name, kPruned);
    EXPECT_EQ(p.moments[0].top[1].weight, 8U);
}

TEST(RollupTest, WithoutAThresholdChainsStay) {
    auto p = profile();
    const auto before = p.samples;
    roll_up(p, {.least_share = 0});
    EXPECT_EQ(p.samples, before);
    EXPECT_EQ(p.functions.size(), 5U) << "(pruned) is not there for nothing";
}

TEST(RollupTest, MomentsBecomeFewer) {
    Profile p;
    p.events.resize(1);
    for (int i = 1; i <= 7; ++i) {
        ProfileMoment moment{.wall_end = WallTime(std::chrono::seconds(5 * i)),
                             .length = std::chrono::seconds(5),
                             .totals = {{.samples = 1, .lost = 2}},
                             .cpus = {},
                             .top = {}};
        moment.cpus.resize(1);
        moment.cpus[0].ledger.total = 10;
        moment.cpus[0].run_delay_ns = 3;
        p.moments.push_back(std::move(moment));
    }
    roll_up(p, {.moments = 3});
    ASSERT_EQ(p.moments.size(), 3U);
    EXPECT_EQ(p.moments[0].wall_end, WallTime(std::chrono::seconds(15)));
    EXPECT_EQ(p.moments[0].length, std::chrono::seconds(15));
    EXPECT_EQ(p.moments[0].totals[0].samples, 3U);
    EXPECT_EQ(p.moments[0].totals[0].lost, 6U);
    EXPECT_EQ(p.moments[0].cpus[0].ledger.total, 30);
    EXPECT_EQ(p.moments[0].cpus[0].run_delay_ns, 9U);
    EXPECT_EQ(p.moments[2].length, std::chrono::seconds(5));
}

TEST(RollupTest, SentencesAreBounded) {
    Profile p;
    for (int i = 0; i < 500; ++i) p.notes.push_back("note " + std::to_string(i));
    roll_up(p, {.sentences = 10});
    ASSERT_EQ(p.notes.size(), 10U);
    EXPECT_EQ(p.notes.back(), "note 9");
}

}  // namespace
}  // namespace perfvigil::analyzer
