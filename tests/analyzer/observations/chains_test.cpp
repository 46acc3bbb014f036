// SPDX-License-Identifier: GPL-2.0-or-later
// Rules about stacks whose callers are missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;
using testing::Not;

constexpr auto kLibc = "/usr/lib/x86_64-linux-gnu/libc.so.6";

// --- broken_chains

TEST(BrokenChains, NamesTheBinariesTheyBreakIn) {
    ObservedProfile p;
    p.rest(1000);
    p.profile.broken = {{.dso = kLibc, .samples = 400, .broken = 300}, {.dso = "/usr/bin/app", .samples = 900}};
    const auto found = p.find("broken_chains");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_EQ(found.evidence, "Call chains break off in libc.so.6 (300 of 400 chains, 75 %).");
    EXPECT_DOUBLE_EQ(figure(found, "broken_share"), 0.3);
}

TEST(BrokenChains, PrologueSamplesAndRareBinariesAreNotBlamed) {
    ObservedProfile p;
    p.rest(1000);
    p.profile.broken = {{.dso = "/usr/bin/app", .samples = 900, .broken = 60}};
    EXPECT_FALSE(p.fires("broken_chains")) << "one in fifteen";
    p.profile.broken = {{.dso = "/usr/bin/rare", .samples = 9, .broken = 9}};
    EXPECT_FALSE(p.fires("broken_chains")) << "under a hundredth of all samples";
    p.profile.broken = {{.dso = "/usr/bin/few", .samples = 70, .broken = 11}};
    EXPECT_FALSE(p.fires("broken_chains")) << "16 % of 70: may be under 10 %";
}

// --- truncated_chains, cut_chains

TEST(TruncatedChains, NamesWhereTheDepthRanOut) {
    ObservedProfile p;
    p.rest(900).stack({user("f"), user("f", "/usr/bin/deep")}, 100, "deep", kStackTruncated);
    const auto found = p.find("truncated_chains");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("10 % of busy CPU time (1.010 s) is in chains as deep as"));
    EXPECT_DOUBLE_EQ(figure(found, "share", "deep"), 0.1);
}

TEST(TruncatedChains, AFewAreNoTopic) {
    ObservedProfile p;
    p.rest(998).stack({user("f"), user("f")}, 2, "deep", kStackTruncated);
    EXPECT_FALSE(p.fires("truncated_chains"));
    EXPECT_FALSE(p.fires("cut_chains"));
    p.stack({user("g"), user("f")}, 1, "deep", kStackCut);
    EXPECT_EQ(p.find("cut_chains").severity, Severity::kInfo);
}

// --- unmapped_callers

TEST(UnmappedCallers, FireWhereChainsEndNowhere) {
    ObservedProfile p;
    const TestFrame nowhere{"[unknown]", "[unknown]", false, UnknownReason::kUnmapped};
    p.rest(700).stack({user("f"), nowhere}, 300);
    const auto found = p.find("unmapped_callers");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_DOUBLE_EQ(figure(found, "share_of_chains"), 0.3);
    EXPECT_THAT(found.meaning, HasSubstr("does not tell which"));
}

TEST(UnmappedCallers, AStrippedRootIsAnotherThing) {
    ObservedProfile p;
    p.rest(700).stack({user("f"), {"[unknown]", "/usr/bin/x", false, UnknownReason::kNoSymbols}}, 300);
    EXPECT_FALSE(p.fires("unmapped_callers"));
    ObservedProfile alone;
    alone.rest(700).stack({{"[unknown]", "[unknown]", false, UnknownReason::kUnmapped}}, 300);
    EXPECT_FALSE(alone.fires("unmapped_callers")) << "the sampled code itself is the unknown symbols' topic";
}

// --- lost_callers

TEST(LostCallers, AssemblyRoutinesHideWhoCalledThem) {
    ObservedProfile p;
    p.rest(800).stack({user("__memmove_avx_unaligned_erms", kLibc), user("outer"), user("main")}, 200);
    const auto found = p.find("lost_callers");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("__memmove_avx_unaligned_erms under outer (20 %)"));
    EXPECT_THAT(found.meaning, HasSubstr("If the chains were followed by frame pointers"));
    p.profile.host.recorder = "perfvigil 0.1.0";
    EXPECT_THAT(p.find("lost_callers").meaning, HasSubstr("This recording followed frame pointers"));
}

TEST(LostCallers, NotFromPlainNamesOtherBinariesOrLoneFrames) {
    ObservedProfile p;
    p.rest(400)
        .stack({user("memcpy", "/usr/bin/app"), user("outer")}, 200)
        .stack({user("__memmove_avx_unaligned_erms", "/usr/bin/static"), user("outer")}, 200)
        .stack({user("strlen", kLibc), user("outer")}, 200)
        .stack({user("__strlen_avx2", kLibc)}, 200);
    EXPECT_FALSE(p.fires("lost_callers"));
    ObservedProfile few;
    few.rest(990).stack({user("__strlen_avx2", kLibc), user("outer")}, 10);
    EXPECT_FALSE(few.fires("lost_callers"));
}

// --- skipped_callers

TEST(SkippedCallers, WhatCallsOnlyMainProvesThem) {
    ObservedProfile p;
    p.stack({user("work"), user("main"), user("__libc_start_call_main", kLibc)}, 600)
        .stack({user("hot_leaf"), user("__libc_start_call_main", kLibc)}, 400);
    const auto found = p.find("skipped_callers");
    EXPECT_DOUBLE_EQ(figure(found, "share_of_main_chains"), 0.4);
    EXPECT_EQ(found.evidence,
              "40 % of the chains that reach __libc_start_call_main show it calling hot_leaf (40 %), though it calls "
              "nothing but main.");
}

TEST(SkippedCallers, AFunctionThatMainJumpedToIsNoSkippedCaller) {
    ObservedProfile p;
    p.stack({user("work"), user("app::run"), user("__libc_start_call_main", kLibc)}, 600);
    EXPECT_FALSE(p.fires("skipped_callers")) << "it has a frame: main may have left by a jump";
    p.stack({in_kernel("vfs_read"), user("hot_leaf"), user("__libc_start_call_main", kLibc)}, 100);
    EXPECT_TRUE(p.fires("skipped_callers")) << "innermost in user code";
}

TEST(SkippedCallers, MainUnnamedOnesAndExitProveNothing) {
    ObservedProfile p;
    p.stack({user("work"), user("main"), user("__libc_start_call_main", kLibc)}, 600)
        .stack({user("main.cold"), user("__libc_start_call_main", kLibc)}, 100)
        .stack({user("__run_exit_handlers", kLibc), user("__libc_start_call_main", kLibc)}, 100)
        .stack({{"[unknown]", "/usr/bin/app", false, UnknownReason::kNoSymbols}, user("__libc_start_call_main", kLibc)},
               100)
        .stack({user("init_first"), user("__libc_start_main_impl", kLibc)}, 100)
        .stack({user("f"), user("__libc_start_call_main", "/usr/bin/app")}, 100);
    EXPECT_FALSE(p.fires("skipped_callers"));
}

}  // namespace
}  // namespace perfvigil::analyzer
