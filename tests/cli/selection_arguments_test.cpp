// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/selection_arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST_F(SelectionArgumentsTest, AnEmptyNameIsRefused) {
    EXPECT_THROW(parse({"--comm", ""}), CLI::ParseError);
    EXPECT_THROW(parse({"--comm", " , "}), CLI::ParseError);
    EXPECT_THROW(parse({"--comm"}), CLI::ParseError);
}

}  // namespace
}  // namespace perfvigil::cli
