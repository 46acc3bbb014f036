// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/name_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> pieces(std::string_view list) {
    std::vector<std::string> patterns;
    add_patterns(patterns, list);
    return patterns;
}

TEST(NamePattern, AWholeNameOrAGlob) {
    EXPECT_TRUE(matches("memcpy", "memcpy"));
    EXPECT_FALSE(matches("memcpy", "memcpy_erms"));
    EXPECT_TRUE(matches("memcpy*", "memcpy_erms"));
    EXPECT_TRUE(matches("*cpy", "memcpy"));
    EXPECT_TRUE(matches("mem?py", "memcpy"));
    EXPECT_FALSE(matches("mem?py", "mempy"));
    EXPECT_TRUE(matches("kworker/[0-3]*", "kworker/2:1"));
    EXPECT_FALSE(matches("kworker/[0-3]*", "kworker/7:1"));
    EXPECT_FALSE(matches("", "x"));
}

TEST(NamePattern, NamesWithBracketsAreNames) {
    EXPECT_TRUE(matches("[kernel.kallsyms]", "[kernel.kallsyms]"));
    EXPECT_FALSE(matches("[kernel.kallsyms]", "k"));
    EXPECT_TRUE(matches("[kernel*", "[kernel.kallsyms]"));
    EXPECT_TRUE(matches("operator[]", "operator[]"));
    EXPECT_TRUE(matches("f(char*)", "f(char*)"));
    EXPECT_TRUE(matches("a\\b*", "a\\bc"));
}

TEST(NamePattern, CommasInsideBracketsBelongToTheName) {
    EXPECT_THAT(pieces("a,b , c"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(pieces("std::map<int, long>::find,g(a,b)"), ElementsAre("std::map<int, long>::find", "g(a,b)"));
    EXPECT_THAT(pieces("a>,b"), ElementsAre("a>", "b"));  // a bracket that was never opened closes nothing
    EXPECT_THAT(pieces(" ,,"), IsEmpty());
}

TEST(NamePattern, OptionsAreWrittenAsAShellReadsThem) {
    EXPECT_EQ(option_text("--comm", {"nginx", "kworker/0:1"}), "--comm nginx,kworker/0:1");
    EXPECT_EQ(option_text("--comm", {"two words"}), "--comm 'two words'");
    EXPECT_EQ(option_text("--symbol", {"it's*"}), "--symbol 'it'\\''s*'");
}

TEST(NearNames, ContainedBeforeMisspelledBeforeFrequent) {
    const std::vector<KnownName> known{{"nginx: worker", 5}, {"ngnix", 1}, {"sshd", 900}, {"postgres", 800}};
    EXPECT_THAT(near_names("nginx", known, 5), ElementsAre("nginx: worker", "ngnix"));
    EXPECT_THAT(near_names("NGINX*", known, 1), ElementsAre("nginx: worker"));
    EXPECT_THAT(near_names("zzzzzz", known, 2), ElementsAre("sshd", "postgres"));
    EXPECT_THAT(near_names("*", known, 1), ElementsAre("sshd"));
    EXPECT_THAT(near_names("x", {}, 5), IsEmpty());
}

TEST(NearNames, EndlessNamesAreNotComparedLetterByLetter) {
    const std::string endless(1U << 20, 'a');
    const std::vector<KnownName> known{{endless, 1}, {"main", 2}};
    EXPECT_THAT(near_names(std::string(1U << 20, 'b'), known, 1), ElementsAre("main"));
}

}  // namespace
}  // namespace perfvigil::analyzer
