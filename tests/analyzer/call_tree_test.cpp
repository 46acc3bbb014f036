// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/call_tree.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

enum Function : std::uint32_t { kMain, kParse, kRead, kCopy, kIdle };

//   main → parse → read → copy      4
//   main → read → copy              2
//   main → parse → parse → copy     1
//   main                            3
//   idle (marked)                   9
Profile calls() {
    Profile profile;
    profile.events.resize(2);
    for (const char* name : {"main", "parse", "read", "copy", "idle"}) {
        profile.functions.push_back({.name = name, .dso = "/bin/x"});
    }
    profile.stacks = {{.functions = {kCopy, kRead, kParse, kMain}},
                      {.functions = {kCopy, kRead, kMain}},
                      {.functions = {kCopy, kParse, kParse, kMain}},
                      {.functions = {kMain}},
                      {.functions = {kIdle}}};
    profile.contexts.resize(1);
    profile.samples = {{.event = 0, .stack = 0, .samples = 4, .weight = 40},
                       {.event = 0, .stack = 1, .samples = 2, .weight = 20},
                       {.event = 0, .stack = 2, .samples = 1, .weight = 10},
                       {.event = 0, .stack = 3, .samples = 3, .weight = 30},
                       {.event = 0, .stack = 4, .idle = true, .samples = 9, .weight = 90},
                       {.event = 1, .stack = 0, .samples = 100, .weight = 1000}};
    return profile;
}

// "main 10/3 (parse 5/0 (…) …)": samples / self samples, depth first, children as they stand.
std::string drawn(const CallTree& tree, const Profile& profile, std::uint32_t node = 0) {
    const auto& n = tree.nodes()[node];
    std::string text = n.function == CallNode::kNone ? "*" : profile.functions[n.function].name;
    text += " " + std::to_string(n.samples) + "/" + std::to_string(n.self_samples);
    EXPECT_EQ(n.weight, n.samples * 10);
    EXPECT_EQ(n.self_weight, n.self_samples * 10);
    if (n.children.empty()) return text;
    text += " (";
    for (const auto child : n.children) {
        EXPECT_EQ(tree.nodes()[child].parent, node);
        EXPECT_EQ(tree.nodes()[child].depth, n.depth + 1);
        EXPECT_GT(child, node);
        text += drawn(tree, profile, child) + ", ";
    }
    text.resize(text.size() - 2);
    return text + ")";
}

TEST(CallTree, StacksFromTheRoot) {
    const auto profile = calls();
    const auto tree = stack_tree(profile, 0, IdleRows::kExclude);
    EXPECT_EQ(drawn(tree, profile),
              "* 10/0 (main 10/3 (parse 5/0 (read 4/0 (copy 4/4), parse 1/0 (copy 1/1)), read 2/0 (copy 2/2)))");
    EXPECT_EQ(tree.deepest(), 4U);
}

TEST(CallTree, IdleOnRequestAndEachEventAlone) {
    const auto profile = calls();
    EXPECT_EQ(stack_tree(profile, 0, IdleRows::kInclude).root().samples, 19U);
    EXPECT_EQ(drawn(stack_tree(profile, 1, IdleRows::kExclude), profile),
              "* 100/0 (main 100/0 (parse 100/0 (read 100/0 (copy 100/100))))");
    EXPECT_EQ(stack_tree(profile, 7, IdleRows::kExclude).nodes().size(), 1U);
}

TEST(CallTree, CallersOfTheHotFunction) {
    const auto profile = calls();
    EXPECT_EQ(drawn(caller_tree(profile, 0, kCopy, CallsOf::kSelf, IdleRows::kExclude), profile),
              "* 7/0 (read 6/0 (parse 4/0 (main 4/4), main 2/2), parse 1/0 (parse 1/0 (main 1/1)))");
    EXPECT_EQ(caller_tree(profile, 0, kParse, CallsOf::kSelf, IdleRows::kExclude).root().samples, 0U);
}

TEST(CallTree, RecursionCountsAtTheOutermostCall) {
    const auto profile = calls();
    EXPECT_EQ(drawn(caller_tree(profile, 0, kParse, CallsOf::kTotal, IdleRows::kExclude), profile), "* 5/0 (main 5/5)");
    EXPECT_EQ(drawn(callee_tree(profile, 0, kParse, IdleRows::kExclude), profile),
              "* 5/0 (read 4/0 (copy 4/4), parse 1/0 (copy 1/1))");
}

TEST(CallTree, CalleesAndOwnCode) {
    const auto profile = calls();
    EXPECT_EQ(drawn(callee_tree(profile, 0, kMain, IdleRows::kExclude), profile),
              "* 10/3 (parse 5/0 (read 4/0 (copy 4/4), parse 1/0 (copy 1/1)), read 2/0 (copy 2/2))");
}

TEST(CallTree, ASampleWithoutAStackEndsInTheRoot) {
    Profile profile;
    profile.events.resize(1);
    profile.stacks.resize(1);
    profile.contexts.resize(1);
    profile.samples = {{.event = 0, .stack = 0, .samples = 2, .weight = 20}};
    EXPECT_EQ(stack_tree(profile, 0, IdleRows::kExclude).root().self_samples, 2U);
}

}  // namespace
}  // namespace perfvigil::analyzer
