// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/text_page.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

TEST(TextPage, SentencesAreBrokenAtBlanks) {
    EXPECT_EQ(wrapped("one two three", 9, 2, 2), "  one two\n    three\n");
    EXPECT_EQ(wrapped("one two three", 0, 2, 2), "  one two three\n");
    EXPECT_EQ(wrapped("unbreakable word", 6, 0, 1), "unbreakable\n word\n");
    EXPECT_EQ(wrapped("äöü äöü", 7, 0, 0), "äöü äöü\n");
    EXPECT_EQ(wrapped("", 10, 2, 2), "  \n");
}

TEST(TextPage, NumbersAsReportsShowThem) {
    EXPECT_EQ(percent(std::uint64_t{1}, std::uint64_t{3}), "33.33");
    EXPECT_EQ(percent(std::uint64_t{1}, std::uint64_t{0}), "-");
    EXPECT_EQ(seconds(-400'000), "0.000");
    EXPECT_EQ(seconds(-1'500'000'000), "-1.500");
}

}  // namespace
}  // namespace perfvigil::analyzer
