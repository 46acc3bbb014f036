// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/text_table.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

using enum TextTable::Align;

TEST(TextTable, AlignsNumbersRightAndNamesLeft) {
    TextTable table;
    table.column("self %", kRight).column("DSO", kLeft).column("function", kLeft);
    table.row({"12.50", "libc.so.6", "memcpy"});
    table.row({"7.00", "a", "b"});
    EXPECT_EQ(table.render(80),
              "  self %  DSO        function\n"
              "   12.50  libc.so.6  memcpy\n"
              "    7.00  a          b\n");
}

TEST(TextTable, CutsOnlyTheLastColumnToTheWidth) {
    TextTable table;
    table.column("n", kRight).column("function", kLeft);
    table.row({"1", "aaaaaaaaaabbbbbbbbbbcccccccccc"});
    EXPECT_EQ(table.render(25), "  n  function\n  1  aaaaaaaaaa…ccccccccc\n");
    EXPECT_EQ(table.render(0), "  n  function\n  1  aaaaaaaaaabbbbbbbbbbcccccccccc\n");
}

TEST(TextTable, NumbersMoveTogetherWhereTheyAreTooWide) {
    TextTable table;
    table.column("cpu", kRight).column("idle unsampled", kRight, "idle un-\nsampled").column("lost", kRight);
    table.row({"0", "1.500", "2"});
    EXPECT_EQ(table.render(27),
              "  cpu  idle unsampled  lost\n"
              "    0           1.500     2\n");
    EXPECT_EQ(table.render(26),
              "      idle un-\n"
              "  cpu  sampled lost\n"
              "    0    1.500    2\n");
    EXPECT_EQ(table.render(0), table.render(27));
}

TEST(TextTable, CountsCodePointsNotBytes) {
    EXPECT_EQ(display_width("äöü"), 3U);
    TextTable table;
    table.column("comm", kLeft).column("n", kRight);
    table.row({"äöü", "1"});
    table.row({"abcd", "2"});
    EXPECT_EQ(table.render(80), "  comm  n\n  äöü   1\n  abcd  2\n");
}

TEST(Shorten, KeepsBothEndsAndWholeCodePoints) {
    struct Case {
        const char* text;
        std::size_t width;
        const char* want;
    };
    for (const auto& [text, width, want] :
         {Case{"short", 10, "short"}, Case{"exact", 5, "exact"}, Case{"abcdefghij", 5, "ab…ij"},
          Case{"abcdefghij", 4, "ab…j"}, Case{"äöüßäöüßäö", 5, "äö…äö"}, Case{"abc", 1, "…"}, Case{"abc", 0, ""}}) {
        EXPECT_EQ(shorten(text, width), want) << text << " to " << width;
        EXPECT_LE(display_width(shorten(text, width)), std::max<std::size_t>(width, 0));
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
