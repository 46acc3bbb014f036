// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/call_graph.hpp"

#include <gtest/gtest.h>

namespace perfvigil::config {
namespace {

using collector::CallChains;

TEST(CallGraph, AsPerfWritesIt) {
    const CallGraphFormat format;
    EXPECT_EQ(format.parse("fp").value().chains, CallChains::kFramePointers);
    EXPECT_EQ(format.parse("none").value().chains, CallChains::kNone);
    const CallGraph usual{.chains = CallChains::kStackDumps, .dump_bytes = 8192};
    EXPECT_EQ(format.parse("dwarf").value(), usual);
    const CallGraph small{.chains = CallChains::kStackDumps, .dump_bytes = 512};
    EXPECT_EQ(format.parse("dwarf,512").value(), small);
    EXPECT_EQ(CallGraph{}.chains, CallChains::kFramePointers);
}

TEST(CallGraph, WhatIsRefusedSaysWhatWouldBeRight) {
    const CallGraphFormat format;
    for (const std::string_view bad : {"", "lbr", "DWARF", "dwarf,", "dwarf,x", "dwarf,-8", "dwarf,8k", "dwarf,100000",
                                       "dwarf,0", "dwarf,12", "dwarf,99999999999999999999", "dwarf 8192"}) {
        const auto parsed = format.parse(bad);
        ASSERT_FALSE(parsed) << bad;
        EXPECT_FALSE(parsed.error().why.empty());
        EXPECT_TRUE(parsed.error().suggestion.contains("dwarf")) << bad;
    }
    EXPECT_TRUE(format.parse("dwarf,12").error().why.contains("multiple of 8"));
    EXPECT_EQ(format.parse("\x1b[31m").error().why.find('\x1b'), std::string::npos) << "escaped";
}

TEST(CallGraph, TheCostIsSaidBeforeItIsPaid) {
    collector::RecordingOptions options;
    EXPECT_TRUE(predicted_cost(options, 4).empty());
    options.call_chains = CallChains::kStackDumps;
    options.tuning.frequency = 100;
    options.tuning.sample_ring_bytes = 4U << 20;
    const auto cost = predicted_cost(options, 4);
    EXPECT_TRUE(cost.contains("200 samples/s")) << cost;
    EXPECT_TRUE(cost.contains("each of 4 CPUs")) << cost;
    EXPECT_TRUE(cost.contains("6.6 MiB/s")) << cost;
    EXPECT_TRUE(cost.contains("4.0 MiB hold 2.4 s")) << cost;
}

}  // namespace
}  // namespace perfvigil::config
