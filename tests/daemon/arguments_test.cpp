// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace perfvigil::daemon {
namespace {

using Action = Arguments::Action;
using testing::HasSubstr;

Result<Arguments> parse(const std::vector<std::string_view>& words) { return parse_arguments(words); }

TEST(ArgumentsTest, NothingRunsWithTheDefaults) {
    const auto arguments = parse({});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->action, Action::kRun);
    EXPECT_FALSE(arguments->config);
    EXPECT_FALSE(arguments->replay);
    EXPECT_EQ(arguments->speed, 1);
}

TEST(ArgumentsTest, TakesValuesInBothForms) {
    for (const auto& words :
         std::vector<std::vector<std::string_view>>{{"--config", "/c.yaml", "--replay", "p.data", "--speed", "2.5"},
                                                    {"--speed=2.5", "--replay=p.data", "--config=/c.yaml"}}) {
        const auto arguments = parse(words);
        ASSERT_TRUE(arguments) << arguments.error().message;
        EXPECT_EQ(arguments->config, "/c.yaml");
        EXPECT_EQ(arguments->replay, "p.data");
        EXPECT_EQ(arguments->speed, 2.5);
    }
    EXPECT_EQ(parse({"--config="})->config, "");
    EXPECT_EQ(parse({"--speed", "0"})->speed, 0);
}

TEST(ArgumentsTest, KnowsTheActions) {
    EXPECT_EQ(parse({"--check-config"})->action, Action::kCheckConfig);
    EXPECT_EQ(parse({"--config", "x", "--print-config"})->action, Action::kPrintConfig);
    EXPECT_EQ(parse({"--version"})->action, Action::kVersion);
    EXPECT_EQ(parse({"--help"})->action, Action::kHelp);
    EXPECT_EQ(parse({"-h"})->action, Action::kHelp);
}

TEST(ArgumentsTest, SaysWhatIsWrong) {
    const std::vector<std::pair<std::vector<std::string_view>, std::string>> cases{
        {{"--config"}, "--config needs a value"},
        {{"--replay"}, "--replay needs a value"},
        {{"--replay", "-"}, "--replay needs a file"},
        {{"--speed", "fast"}, "\"fast\" is not a number"},
        {{"--speed", "-1"}, "is not a number of 0 or more"},
        {{"--speed", "nan"}, "is not a number"},
        {{"--speed", "1x"}, "is not a number"},
        {{"--version=1"}, "--version takes no value"},
        {{"--frequency", "99"}, "unknown argument \"--frequency\""},
        {{"file"}, "unknown argument \"file\""},
        {{"\x1b[2J"}, "unknown argument \"\\x1b[2J\""},
        {{""}, "unknown argument \"\""},
    };
    for (const auto& [words, why] : cases) {
        const auto arguments = parse(words);
        ASSERT_FALSE(arguments) << why;
        EXPECT_THAT(arguments.error().message, HasSubstr(why));
    }
}

TEST(ArgumentsTest, UsageNamesEveryOption) {
    for (const auto* option : {"--config", "--check-config", "--print-config", "--replay", "--speed", "--version"}) {
        EXPECT_THAT(std::string(usage_text()), HasSubstr(option));
    }
}

}  // namespace
}  // namespace perfvigil::daemon
