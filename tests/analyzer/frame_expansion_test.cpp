// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/frame_expansion.hpp"

#include <gtest/gtest.h>

#include <map>

#include "analyzer/function_label.hpp"

namespace perfvigil::analyzer {
namespace {

// leaf@1 and leaf@2 below main@3, as they stand while the profile grows: a position plus one as the line.
Profile grown() {
    Profile profile;
    profile.events = {{.name = "cpu-clock"}};
    profile.functions = {{.name = "leaf", .dso = "/bin/x", .line = 1},
                         {.name = "leaf", .dso = "/bin/x", .line = 2},
                         {.name = "main", .dso = "/bin/x", .line = 3},
                         {.name = "read", .dso = "[kernel.kallsyms]", .kernel = true, .line = 4}};
    profile.stacks = {{.functions = {0, 2}}, {.functions = {1, 2}}, {.functions = {3, 2}}};
    profile.contexts.emplace_back();
    profile.samples = {{.stack = 0, .samples = 1, .weight = 10},
                       {.stack = 1, .samples = 2, .weight = 20},
                       {.stack = 2, .samples = 4, .weight = 40}};
    profile.moments.emplace_back();
    profile.moments[0].top = {{.event = 0, .function = 1, .samples = 2, .weight = 20},
                              {.event = 0, .function = 0, .samples = 1, .weight = 10}};
    return profile;
}

const std::vector<std::vector<InlinedFrame>> kFrames{
    {{.function = "tiny", .file = "/src/t.h", .line = 5}, {.function = "leaf", .file = "/src/x.c", .line = 9}},
    {{.function = "tiny", .file = "/src/t.h", .line = 6}, {.function = "leaf", .file = "/src/x.c", .line = 9}},
    {{.function = "", .file = "/src/y.c", .line = 20}, {.function = "_main", .file = "/src/x.c", .line = 30}},
    {}};

std::vector<std::string> stacks_of(const Profile& profile) {
    std::vector<std::string> all;
    for (const auto& sample : profile.samples) {
        std::string text;
        for (const auto function : profile.stacks[sample.stack].functions) {
            text += (text.empty() ? "" : " < ") + function_label(profile.functions[function]);
        }
        all.push_back(text + " = " + std::to_string(sample.samples) + " " + std::to_string(sample.weight));
    }
    return all;
}

TEST(FrameExpansion, InlinedCallsBecomeFunctionsAndEqualStacksOne) {
    auto profile = grown();
    expand_frames(profile, kFrames, {.inlined = true}, 0);
    EXPECT_EQ(stacks_of(profile),
              (std::vector<std::string>{"tiny (inlined) < leaf < main = 3 30", "read < main = 4 40"}));
    for (const auto& function : profile.functions) EXPECT_EQ(function.line, 0U) << function.name;
    // The moment's samples were taken in the innermost function.
    ASSERT_EQ(profile.moments[0].top.size(), 1U);
    EXPECT_EQ(profile.functions[profile.moments[0].top[0].function].name, "tiny");
    EXPECT_EQ(profile.moments[0].top[0].samples, 3U);
    const auto totals = function_totals(profile, 0, IdleRows::kInclude);
    std::uint64_t self = 0;
    for (const auto& row : totals) self += row.self_weight;
    EXPECT_EQ(self, 70U);
}

TEST(FrameExpansion, LinesTellFunctionsApart) {
    auto profile = grown();
    expand_frames(profile, kFrames, {.lines = true}, 0);
    EXPECT_EQ(stacks_of(profile),
              (std::vector<std::string>{"leaf t.h:5 < main y.c:20 = 1 10", "leaf t.h:6 < main y.c:20 = 2 20",
                                        "read < main y.c:20 = 4 40"}));
}

TEST(FrameExpansion, BothTogetherShowEachFunctionWhereItIsLeft) {
    auto profile = grown();
    expand_frames(profile, kFrames, {.inlined = true, .lines = true}, 1);
    EXPECT_EQ(stacks_of(profile), (std::vector<std::string>{"tiny t.h:5 (inlined) < leaf x.c:9 < main x.c:30 = 1 10",
                                                            "tiny t.h:6 (inlined) < leaf x.c:9 < main x.c:30 = 2 20",
                                                            "read < main x.c:30 = 4 40"}));
    ASSERT_EQ(profile.moments[0].top.size(), 1U) << "the heaviest alone is kept";
    EXPECT_EQ(profile.moments[0].top[0].weight, 20U);
}

TEST(FrameExpansion, ModulesAreLeftAsTheyAreUntilTheyAreAskedFor) {
    const auto expanded = [](const SampleSelection& selection) {
        auto profile = grown();
        profile.functions[3] = {.name = "ext4_read", .dso = "[ext4]", .kernel = true, .line = 1};
        expand_frames(profile, kFrames, selection, 0);
        return stacks_of(profile).back();
    };
    EXPECT_EQ(expanded({.inlined = true, .lines = true}), "ext4_read < main x.c:30 = 4 40");
    EXPECT_EQ(expanded({.inlined = true, .module_inlined = true}), "tiny (inlined) < ext4_read < main = 4 40");
    EXPECT_EQ(expanded({.inlined = true, .lines = true, .module_lines = true}), "ext4_read t.h:5 < main x.c:30 = 4 40");
}

TEST(FrameExpansion, ARecursiveInlinedCallCountsOncePerSample) {
    auto profile = grown();
    const std::vector<std::vector<InlinedFrame>> twice{
        {{.function = "tiny", .file = {}}, {.function = "tiny", .file = {}}, {.function = "leaf", .file = {}}}};
    expand_frames(profile, twice, {.inlined = true}, 0);
    std::map<std::string, std::uint64_t> totals;
    for (const auto& row : function_totals(profile, 0, IdleRows::kInclude)) {
        totals[profile.functions[row.function].name] += row.total_samples;
    }
    EXPECT_EQ(totals.at("tiny"), 1U);
    EXPECT_EQ(totals.at("main"), 7U);
}

}  // namespace
}  // namespace perfvigil::analyzer
