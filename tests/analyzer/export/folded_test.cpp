// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/folded.hpp"

#include <gtest/gtest.h>

#include "tests/support/export_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using Value = FoldedOptions::Value;

TEST(Folded, EachStackIsALineWithTheThreadFirst) {
    const auto profile = test::export_profile();
    EXPECT_EQ(folded(profile, 0, {}), "web;main;work 30\nweb;main;[libc.so.6];read 20\n");
    EXPECT_EQ(folded(profile, 1, {}), "web;main;work 7000\n");
    EXPECT_EQ(folded(profile, 2, {}), "");
}

TEST(Folded, IdleSamplesOnRequest) {
    EXPECT_EQ(folded(test::export_profile(), 0, {.idle = IdleRows::kInclude}),
              "[no name];read 50\nweb;main;work 30\nweb;main;[libc.so.6];read 20\n");
}

TEST(Folded, SamplesInsteadOfWeightsOnRequest) {
    EXPECT_EQ(folded(test::export_profile(), 0, {.value = Value::kSamples}),
              "web;main;work 3\nweb;main;[libc.so.6];read 2\n");
}

TEST(Folded, KernelFunctionsAreMarkedOnRequest) {
    EXPECT_EQ(folded(test::export_profile(), 0, {.mark_kernel = true}),
              "web;main;work 30\nweb;main;[libc.so.6];read_[k] 20\n");
}

TEST(Folded, StacksThatReadTheSameAreOneLine) {
    auto profile = test::export_profile();
    // Another unit, another binary of the same function's name: the line is the same.
    profile.contexts.push_back({.comm = "web", .unit = "other.service", .container = ""});
    profile.functions.push_back({.name = "work", .dso = "/bin/y"});
    profile.stacks.push_back({.functions = {4, 0}});
    profile.samples.push_back({.event = 0, .stack = 3, .context = 2, .samples = 1, .weight = 10});
    EXPECT_EQ(folded(profile, 0, {}), "web;main;work 40\nweb;main;[libc.so.6];read 20\n");
}

TEST(Folded, ALineIsWhatItsPartsAre) {
    auto profile = test::export_profile();
    profile.contexts[0].comm = "a;b\nc 1";
    profile.functions[0].name = "operator new(unsigned long)";
    profile.functions[1].name = "Lcom/x;.run\r\xff";
    EXPECT_EQ(folded(profile, 1, {}), "a\\x3bb\\x0ac 1;operator new(unsigned long);Lcom/x\\x3b.run\\x0d\\xff 7000\n");
}

TEST(Folded, SamplesWithoutAStackAreTheThreads) {
    auto profile = test::export_profile();
    profile.stacks.push_back({});
    profile.samples = {{.event = 0, .stack = 3, .context = 0, .samples = 1, .weight = 10}};
    EXPECT_EQ(folded(profile, 0, {}), "web 10\n");
}

}  // namespace
}  // namespace perfvigil::analyzer
