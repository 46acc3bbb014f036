// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/selection_arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"

namespace perfvigil::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SelectionArgumentsTest : public testing::Test {
protected:
    SelectionArgumentsTest() {
        app_.add_option("source", source_);
        add_selection(app_, selection_);
    }
    void parse(std::vector<std::string> words) {
        std::ranges::reverse(words);
        app_.parse(words);
    }

    CLI::App app_;
    std::string source_;
    SelectionArguments selection_;
};

TEST_F(SelectionArgumentsTest, ListsAndRepeatedOptionsAddUp) {
    parse({"--comm", "a,b", "--comm=c", "file", "--dso", "[kernel.kallsyms]", "--symbol", "std::map<int, int>::find"});
    EXPECT_THAT(selection_.names.comms, ElementsAre("a", "b", "c"));
    EXPECT_THAT(selection_.names.dsos, ElementsAre("[kernel.kallsyms]"));
    EXPECT_THAT(selection_.names.symbols, ElementsAre("std::map<int, int>::find"));
    EXPECT_THAT(selection_.names.parents, IsEmpty());
    EXPECT_EQ(source_, "file");
}

TEST_F(SelectionArgumentsTest, EachKindHasItsOption) {
    parse({"--event", "e", "--parent", "p", "--unit", "u", "--symbol", "s"});
    EXPECT_THAT(selection_.names.events, ElementsAre("e"));
    EXPECT_THAT(selection_.names.parents, ElementsAre("p"));
    EXPECT_THAT(selection_.names.units, ElementsAre("u"));
    EXPECT_THAT(selection_.names.symbols, ElementsAre("s"));
}

TEST_F(SelectionArgumentsTest, WhatIsJudgedSampleBySample) {
    parse({"--time", "10s..20s", "--cpu", "0,3", "--pid", "7", "--pid=8", "--tid", "9", "file"});
    const auto& samples = selection_.load.samples;
    ASSERT_TRUE(samples.time);
    EXPECT_DOUBLE_EQ(samples.time->from, 10);
    EXPECT_THAT(samples.cpus, ElementsAre(CpuId{0}, CpuId{3}));
    EXPECT_THAT(samples.pids, ElementsAre(Pid{7}, Pid{8}));
    EXPECT_THAT(samples.tids, ElementsAre(Tid{9}));
    EXPECT_THROW(parse({"--time", "later"}), CLI::ParseError);
    EXPECT_THROW(parse({"--pid", "nginx"}), CLI::ParseError);
    EXPECT_THROW(parse({"--cpu", "-1"}), CLI::ParseError);
}

TEST_F(SelectionArgumentsTest, HowAFileIsRead) {
    parse({"--symfs", "/srv/target", "--kallsyms", "System.map", "--split-hybrid"});
    EXPECT_EQ(selection_.load.symbols.symfs, "/srv/target");
    EXPECT_EQ(selection_.load.symbols.kallsyms, "System.map");
    EXPECT_TRUE(selection_.load.split_hybrid);
}

TEST_F(SelectionArgumentsTest, TheKindOfFileIsOneOfAFew) {
    parse({"file", "--input-format", "script"});
    EXPECT_EQ(selection_.load.format, analyzer::InputFormat::kScript);
    EXPECT_THROW(parse({"--input-format", "perf"}), CLI::ParseError);
}

TEST_F(SelectionArgumentsTest, AnEmptyNameIsRefused) {
    EXPECT_THROW(parse({"--comm", ""}), CLI::ParseError);
    EXPECT_THROW(parse({"--comm", " , "}), CLI::ParseError);
    EXPECT_THROW(parse({"--comm"}), CLI::ParseError);
}

TEST_F(SelectionArgumentsTest, NumbersMayBeRanges) {
    parse({"--cpu", "0-3,8", "--pid", "5", "file"});
    EXPECT_THAT(selection_.load.samples.cpus, ElementsAre(CpuId{0}, CpuId{1}, CpuId{2}, CpuId{3}, CpuId{8}));
    EXPECT_THAT(selection_.load.samples.pids, ElementsAre(Pid{5}));
}

TEST_F(SelectionArgumentsTest, OtherRangesAreRefused) {
    for (const auto* list : {"1-", "3-1", "a", "0-99999999", "4294967296", "1-2-3"}) {
        EXPECT_THROW(parse({"--cpu", list, "file"}), CLI::ValidationError) << list;
    }
}

TEST(Arguments, CountsAreNotNegative) {
    CLI::App app;
    std::optional<std::size_t> top;
    app.add_option("--top", top)->check(a_count());
    EXPECT_NO_THROW(app.parse("--top 5"));
    EXPECT_EQ(top, 5U);
    EXPECT_THROW(app.parse("--top -1"), CLI::ValidationError);
    EXPECT_THROW(app.parse("--top 1.5"), CLI::ValidationError);
}

TEST(Arguments, OtherWordsAreRefusedWithTheList) {
    CLI::App app;
    std::string to;
    app.add_option("--to", to)->check(one_of({"pprof", "folded"}));
    EXPECT_NO_THROW(app.parse("--to folded"));
    try {
        app.parse("--to foo");
        ADD_FAILURE() << "taken";
    } catch (const CLI::ValidationError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("'foo' is none of pprof, folded"));
    }
}

}  // namespace
}  // namespace perfvigil::cli
