// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(YamlTest, FlattensSectionsWithLines) {
    const auto document = parse_yaml("a:\n  b: 1\n  c:\n    d: x y\n    e: [1, two]\nf:\n  - g\n  - h\nempty:\n");
    EXPECT_THAT(document.faults, IsEmpty());
    ASSERT_EQ(document.settings.size(), 5U);
    const auto& s = document.settings;
    EXPECT_EQ(s[0].key, "a.b");
    EXPECT_EQ(s[0].line, 2);
    EXPECT_THAT(s[0].values, ElementsAre("1"));
    EXPECT_EQ(s[1].key, "a.c.d");
    EXPECT_EQ(s[1].line, 4);
    EXPECT_THAT(s[1].values, ElementsAre("x y"));
    EXPECT_EQ(s[2].shape, Setting::Shape::kList);
    EXPECT_THAT(s[2].values, ElementsAre("1", "two"));
    EXPECT_EQ(s[3].key, "f");
    EXPECT_THAT(s[3].values, ElementsAre("g", "h"));
    EXPECT_EQ(s[4].key, "empty");
    EXPECT_EQ(s[4].shape, Setting::Shape::kEmpty);
}

TEST(YamlTest, NothingIsFine) {
    for (const auto* text : {"", "\n", "# a comment\n", "---\n"}) {
        const auto document = parse_yaml(text);
        EXPECT_THAT(document.faults, IsEmpty()) << text;
        EXPECT_THAT(document.settings, IsEmpty()) << text;
    }
}

struct BadCase {
    const char* name;
    std::string text;
    int line;
    const char* why;
};
class YamlFaultTest : public testing::TestWithParam<BadCase> {};

TEST_P(YamlFaultTest, IsNamedWithItsLine) {
    const auto document = parse_yaml(GetParam().text);
    ASSERT_FALSE(document.faults.empty());
    EXPECT_EQ(document.faults.front().line, GetParam().line);
    EXPECT_THAT(document.faults.front().why, HasSubstr(GetParam().why));
}

std::string nested(int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "{a: ";
    return text + "1" + std::string(static_cast<std::size_t>(depth), '}');
}

INSTANTIATE_TEST_SUITE_P(
    Cases, YamlFaultTest,
    testing::Values(BadCase{"Syntax", "a: 1\nb: [1, 2\n", 3, "not YAML"}, BadCase{"Tab", "a:\n\tb: 1\n", 2, "not YAML"},
                    BadCase{"Twice", "a: 1\nb: 2\na: 3\n", 3, "given twice, first on line 1"},
                    BadCase{"Alias", "a: &x 1\nb: *x\n", 2, "aliases are not supported"},
                    BadCase{"UnknownAlias", "b: *x\n", 1, "not YAML"},
                    BadCase{"ListOfMaps", "a:\n  - b: 1\n", 2, "a list or section cannot stand here"},
                    BadCase{"ListOfLists", "a: [[1]]\n", 1, "a list or section cannot stand here"},
                    BadCase{"MapAsKey", "? {a: 1}\n: 2\n", 1, "a list or section cannot stand here"},
                    BadCase{"OneValue", "hello\n", 1, "the file is one value"},
                    BadCase{"TopList", "- a\n", 1, "a list or section cannot stand here"},
                    BadCase{"EmptyEntry", "a: [1, ~]\n", 1, "an entry of the list is empty"},
                    BadCase{"NoKey", ": 1\n", 1, "a key is missing"},
                    BadCase{"SecondDocument", "a: 1\n---\nb: 2\n", 3, "a second document"},
                    BadCase{"Deep", nested(20), 1, "nested deeper than 8 levels"},
                    BadCase{"VeryDeep", nested(20000), 1, "not YAML"},
                    BadCase{"Large", std::string((1U << 20) + 1, '#'), 0, "larger than 1.0 MiB"}),
    [](const auto& param) { return param.param.name; });

TEST(YamlTest, BoundsTheNumberOfKeysAndFaults) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + ": 1\n";
    const auto document = parse_yaml(text);
    EXPECT_EQ(document.settings.size(), 1000U);
    ASSERT_EQ(document.faults.size(), 1U);
    EXPECT_EQ(document.faults.front().why, "more than 1000 keys");
}

TEST(YamlTest, GoesOnAfterASkippedPart) {
    const auto document = parse_yaml("a: [{x: 1}, 2]\nb: 3\n");
    EXPECT_EQ(document.faults.size(), 1U);
    ASSERT_EQ(document.settings.size(), 2U);
    EXPECT_EQ(document.settings[1].key, "b");
}

}  // namespace
}  // namespace perfvigil::config
