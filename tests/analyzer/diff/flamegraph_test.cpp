// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/flamegraph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/diff_profiles.hpp"

namespace perfvigil::analyzer {
namespace {

using test::counted_profile;
using testing::HasSubstr;

std::uint32_t node_of(const DiffTree& both, std::string_view name) {
    const auto& nodes = both.tree.nodes();
    for (std::uint32_t i = 1; i < nodes.size(); ++i) {
        if (both.functions[nodes[i].function].name == name) return i;
    }
    throw std::runtime_error("no node " + std::string(name));
}

TEST(DiffFlamegraph, SharesOfBothSidesByNode) {
    const auto before = counted_profile({{80, 20, 0}}, {.period = 1'000'000});
    const auto after = counted_profile({{10, 0, 10}}, {.period = 10'000'000});
    const DiffTree both = diff_tree(before, 0, after, 0);
    EXPECT_DOUBLE_EQ(both.before[0], 1);
    EXPECT_DOUBLE_EQ(both.after[0], 1);
    EXPECT_DOUBLE_EQ(both.before[node_of(both, "main")], 1);
    const auto share = [&](std::string_view name) {
        const auto node = node_of(both, name);
        return std::pair(both.before[node], both.after[node]);
    };
    EXPECT_EQ(share("function_0"), std::pair(0.8, 0.5));
    EXPECT_EQ(share("function_1"), std::pair(0.2, 0.0));  // gone, and still seen
    EXPECT_EQ(share("function_2"), std::pair(0.0, 0.5));
    // Wide as the mean of both shares, in the weight of the later side: 200 ms.
    EXPECT_EQ(both.tree.root().weight, 200'000'000U);
    EXPECT_EQ(both.tree.nodes()[node_of(both, "function_1")].weight, 20'000'000U);
    EXPECT_EQ(both.tree.nodes()[node_of(both, "function_2")].weight, 50'000'000U);
}

TEST(DiffFlamegraph, ThePictureTellsBothShares) {
    const auto before = counted_profile({{80, 20, 0}}, {.id = "then"});
    const auto after = counted_profile({{50, 0, 50}}, {.id = "now"});
    const auto svg = diff_flamegraph(before, 0, after, 0);
    EXPECT_THAT(svg, HasSubstr("now against then"));
    EXPECT_THAT(svg, HasSubstr("80.00 % before, 50.00 % after: -30.00 points"));
    EXPECT_THAT(svg, HasSubstr("20.00 % before, 0.00 % after: -20.00 points"));
    EXPECT_THAT(svg, HasSubstr("only before"));
}

TEST(DiffFlamegraph, AnEmptySideIsNoFault) {
    const auto before = counted_profile({{0, 0}});
    const auto after = counted_profile({{5, 5}});
    const DiffTree both = diff_tree(before, 0, after, 0);
    EXPECT_DOUBLE_EQ(both.before[0], 0);
    EXPECT_DOUBLE_EQ(both.after[0], 1);
}

}  // namespace
}  // namespace perfvigil::analyzer
