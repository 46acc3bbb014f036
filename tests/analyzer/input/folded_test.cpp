// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/folded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profile_folds.hpp"
#include "tests/support/text_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Profile read(std::string_view text) { return profile_of_text(text, read_folded); }

std::string error_of(std::string_view text) {
    const auto profile = try_text(text, read_folded);
    return profile ? "no error" : profile.error().message;
}

TEST(FoldedInput, StacksAddUp) {
    const auto profile = read("a;b;c 1\r\na;b;c 1\r\na;b;d 4\r\na;b;c 3\r\na;b 5");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;b;c", 5}, {"a;b;d", 4}, {"a;b", 5}}));
    EXPECT_EQ(profile.events[0].samples, 14U);
    EXPECT_EQ(profile.contexts.size(), 1U);
    EXPECT_THAT(profile.warnings, IsEmpty());
    const auto totals = function_totals(profile, 0, IdleRows::kExclude);
    EXPECT_EQ(totals[0].self_weight, 5U);
    for (const auto& row : totals) {
        const auto& name = profile.functions[row.function].name;
        if (name == "a" || name == "b") {
            EXPECT_EQ(row.total_weight, 14U) << name;
        }
    }
}

TEST(FoldedInput, AMarkAnywhereSaysThatTheFirstPieceIsAThreadsName) {
    const auto profile = read("app;main;vfs_read_[k] 3\napp;main;Foo::run_[j] 2\napp;main;f_[i] 1\napp 7\n");
    EXPECT_EQ(folds_of(profile),
              (Folds{{"app;main;vfs_read", 3}, {"app;main;Foo::run", 2}, {"app;main;f", 1}, {"app", 7}}));
    ASSERT_EQ(profile.contexts.size(), 1U);
    EXPECT_EQ(profile.contexts[0].comm, "app");
    for (const auto& function : profile.functions) {
        EXPECT_EQ(function.kernel, function.name == "vfs_read") << function.name;
        if (function.name == "Foo::run") {
            EXPECT_EQ(function.dso, "[jit]");
        }
    }
    EXPECT_THAT(profile.warnings, ElementsAre(HasSubstr("7 of the 13 samples of samples have no frames")));
}

TEST(FoldedInput, PidsAndTidsAreNoPartOfTheName) {
    const auto profile = read("node-v0-31912/31913;main 2\nnode-v0-?/5;main 3\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"node-v0;main", 5}}));
}

TEST(FoldedInput, IdleIsToldFromNames) {
    const auto profile = read(
        "swapper;cpu_startup_entry_[k];do_idle_[k];native_safe_halt_[k] 39\n"
        "swapper;cpu_startup_entry_[k];do_idle_[k];asm_sysvec_apic_timer_interrupt_[k];handle_softirqs_[k] 2\n");
    EXPECT_EQ(profile.events[0].idle_samples, 39U);
    EXPECT_EQ(profile.events[0].samples, 41U);
    const auto unmarked = read("swapper;cpu_startup_entry;do_idle;native_safe_halt 39\n");
    EXPECT_EQ(unmarked.events[0].idle_samples, 39U);
}

TEST(FoldedInput, NamesWithBlanksAndNumbers) {
    const auto profile = read("a;operator() (int, int) 2\na;b c 3\na;[libc.so.6] 4\na;[unknown] 5\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;operator() (int, int)", 2}, {"a;b c", 3}, {"a;[unknown]", 9}}));
    bool named = false;
    for (const auto& function : profile.functions) named |= function.dso == "libc.so.6";
    EXPECT_TRUE(named);
    EXPECT_EQ(parse_folded_line("a;b 12.000").count, 12U);
    EXPECT_TRUE(parse_folded_line("a;b 12.5").stack.empty());
    EXPECT_TRUE(parse_folded_line("a;b -3").stack.empty());
    EXPECT_TRUE(parse_folded_line("12").stack.empty());
}

TEST(FoldedInput, WhatCannotBeReadIsShown) {
    const auto profile = read("# a comment\n// another\na;b 1\ninvalid line\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;b", 1}}));
    EXPECT_THAT(profile.warnings, ElementsAre("1 line could not be read: line 4: \"invalid line\""));
    EXPECT_THAT(error_of("nothing\nof it\n"),
                HasSubstr("no folded stack in 2 lines; the first of them: line 1: \"nothing\""));
}

TEST(FoldedInput, ADifferenceOfTwoProfilesIsRefused) {
    EXPECT_THAT(error_of("a;b 1 2\na;c 3 4\n"), HasSubstr("difference of two profiles"));
    EXPECT_EQ(folds_of(read("a;RegExp 12 3\na;c 4\na;d 4\n")), (Folds{{"a;RegExp 12", 3}, {"a;c", 4}, {"a;d", 4}}));
}

}  // namespace
}  // namespace perfvigil::analyzer
