// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/call_paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;
using testing::ElementsAre;
using testing::IsEmpty;

// "  60 read parse main": samples behind two blanks per depth; "!3" ends within, "+" where it goes on.
std::vector<std::string> drawn(const CallPaths& paths, const Profile& profile) {
    std::vector<std::string> lines;
    for (const auto& row : paths.rows) {
        std::string line(2 * std::size_t{row.depth}, ' ');
        line += std::to_string(row.samples);
        for (const auto function : row.functions) line += " " + profile.functions[function].name;
        if (row.end_samples != 0) line += " !" + std::to_string(row.end_samples);
        if (row.goes_on) line += " +";
        EXPECT_EQ(row.weight, row.samples * ProfileMaker::kTick);
        EXPECT_EQ(row.end_weight, row.end_samples * ProfileMaker::kTick);
        lines.push_back(std::move(line));
    }
    return lines;
}

CallTree callers(const Profile& profile, std::string_view name) {
    return caller_tree(profile, 0, test::function_number(profile, name), CallsOf::kSelf, IdleRows::kExclude);
}

Profile forks() {
    return ProfileMaker()
        .add("main;serve;parse;read;copy", 60)
        .add("main;serve;parse;fill;copy", 30)
        .add("main;reload;fill;copy", 8)
        .add("main;exit;copy", 1)
        .add("copy", 1)
        .build();
}

TEST(CallPaths, RunsShareALine) {
    const auto profile = forks();
    const auto paths = call_paths(callers(profile, "copy"), {.least_share = 0});
    EXPECT_THAT(drawn(paths, profile),
                ElementsAre("60 read parse serve main !60", "38 fill", "  30 parse serve main !30",
                            "  8 reload main !8", "1 exit main !1"));
    EXPECT_EQ(paths.root_end_samples, 1U);
    EXPECT_EQ(paths.hidden_samples, 0U);
}

TEST(CallPaths, SmallPathsAreLeftOutAndCounted) {
    const auto profile = forks();
    const auto paths = call_paths(callers(profile, "copy"), {.least_share = 0.02});
    EXPECT_THAT(drawn(paths, profile), ElementsAre("60 read parse serve main !60", "38 fill",
                                                   "  30 parse serve main !30", "  8 reload main !8"));
    EXPECT_EQ(paths.hidden_samples, 1U);
    EXPECT_EQ(paths.hidden_weight, ProfileMaker::kTick);
    EXPECT_EQ(paths.root_end_weight, ProfileMaker::kTick);
}

TEST(CallPaths, ALineGoesOnThroughASmallForkUnlessItMustBeExact) {
    const auto profile = forks();
    const auto tree = callers(profile, "copy");
    EXPECT_THAT(drawn(call_paths(tree, {.least_share = 0.1}), profile),
                ElementsAre("60 read parse serve main !60", "38 fill parse serve main !30"));
    EXPECT_THAT(drawn(call_paths(tree, {.least_share = 0.1, .runs = PathLimits::Runs::kExact}), profile),
                ElementsAre("60 read parse serve main !60", "38 fill", "  30 parse serve main !30"));
}

TEST(CallPaths, TheHeaviestRowsWin) {
    const auto profile = forks();
    const auto tree = callers(profile, "copy");
    EXPECT_THAT(drawn(call_paths(tree, {.least_share = 0, .most_rows = 3}), profile),
                ElementsAre("60 read parse serve main !60", "38 fill", "  30 parse serve main !30"));
    const auto two = call_paths(tree, {.least_share = 0, .most_rows = 2});
    EXPECT_THAT(drawn(two, profile), ElementsAre("60 read parse serve main !60", "38 fill +"));
    EXPECT_EQ(two.hidden_samples, 1U);
    EXPECT_THAT(drawn(call_paths(tree, {.least_share = 0, .most_depth = 1}), profile),
                ElementsAre("60 read parse serve main !60", "38 fill +", "1 exit main !1"));
}

TEST(CallPaths, AnEndWithinForksIsNoRun) {
    const auto profile = ProfileMaker().add("main;a;x", 5).add("a;x", 5).build();
    EXPECT_THAT(drawn(call_paths(callers(profile, "x"), {.least_share = 0}), profile),
                ElementsAre("10 a !5", "  5 main !5"));
}

TEST(CallPaths, WithoutCallersThereAreNoRows) {
    const auto profile = ProfileMaker().add("x", 5).build();
    const auto paths = call_paths(callers(profile, "x"), {});
    EXPECT_THAT(paths.rows, IsEmpty());
    EXPECT_EQ(paths.root_end_samples, 5U);
    EXPECT_THAT(call_paths(CallTreeBuilder().build(), {}).rows, IsEmpty());
}

}  // namespace
}  // namespace perfvigil::analyzer
