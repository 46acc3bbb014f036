// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/markup.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

TEST(Markup, WhatMeansSomethingThereIsAnEntity) {
    EXPECT_EQ(markup("std::vector<int>::operator&&"), "std::vector&lt;int&gt;::operator&amp;&amp;");
    EXPECT_EQ(markup("\"a'"), "&quot;a&#39;");
    EXPECT_EQ(markup_of_escaped("\\x0a&"), "\\x0a&amp;");
}

TEST(Markup, WhatIsNoTextBecomesHex) {
    EXPECT_EQ(markup("a\nb\tc\x01"), "a\nb\\x09c\\x01");
    EXPECT_EQ(markup("\xff"), "\\xff");
    EXPECT_EQ(markup("\xef\xbf\xbe|\xef\xbf\xbd"), "\\xef\\xbf\\xbe|\xef\xbf\xbd");
    EXPECT_EQ(markup("x\xe2\x80\xae"
                     "y\xe2\x81\xa6z\xe2\x80\xa6"),
              "x\\xe2\\x80\\xaey\\xe2\\x81\\xa6z\xe2\x80\xa6");
    EXPECT_EQ(markup(""), "");
}

}  // namespace
}  // namespace perfvigil::analyzer
