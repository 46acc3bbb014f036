// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/trigger_format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::config {
namespace {

using Signal = TriggerRule::Signal;

struct RuleCase {
    const char* text;
    TriggerRule rule;
};
class RuleTest : public testing::TestWithParam<RuleCase> {};

TEST_P(RuleTest, ReadsAndPrints) {
    const auto& [text, rule] = GetParam();
    const auto parsed = TriggerRuleFormat{}.parse(text);
    ASSERT_TRUE(parsed) << parsed.error().why;
    EXPECT_EQ(parsed->name, rule.name);
    EXPECT_EQ(parsed->signal, rule.signal);
    EXPECT_EQ(parsed->of, rule.of);
    EXPECT_DOUBLE_EQ(parsed->above, rule.above);
    EXPECT_EQ(parsed->hold, rule.hold);
    EXPECT_EQ(TriggerRuleFormat{}.parse(TriggerRuleFormat{}.print(*parsed)), *parsed);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RuleTest,
    testing::Values(RuleCase{"saturated when cpu_busy > 95% for 1min",
                             {"saturated", Signal::kCpuBusy, "", 0.95, Seconds(60)}},
                    RuleCase{"  a-b_1   when  loss  >  0.5%  ", {"a-b_1", Signal::kLoss, "", 0.005, {}}},
                    RuleCase{"f when function operator>(A const&, B<int>) > 20% for 30s",
                             {"f", Signal::kFunction, "operator>(A const&, B<int>)", 0.2, Seconds(30)}},
                    RuleCase{"f when function wait for it > 2%", {"f", Signal::kFunction, "wait for it", 0.02, {}}},
                    RuleCase{"web when unit nginx > 150%", {"web", Signal::kUnit, "nginx.service", 1.5, {}}},
                    RuleCase{"web when unit session-1.scope > 50%", {"web", Signal::kUnit, "session-1.scope", 0.5, {}}},
                    RuleCase{"io when pressure io full > 30%", {"io", Signal::kPressure, "io full", 0.3, {}}},
                    RuleCase{"io when pressure memory > 1%", {"io", Signal::kPressure, "memory some", 0.01, {}}},
                    RuleCase{"l when load > 12.5 for 5min", {"l", Signal::kLoad, "", 12.5, Seconds(300)}},
                    RuleCase{"l when load_per_cpu > 2", {"l", Signal::kLoadPerCpu, "", 2, {}}}));

struct FaultCase {
    const char* text;
    const char* why;
};
class RuleFaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(RuleFaultTest, SaysWhatAndWhere) {
    const auto parsed = TriggerRuleFormat{}.parse(GetParam().text);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().why + ", " + parsed.error().suggestion, testing::HasSubstr(GetParam().why));
    EXPECT_THAT(parsed.error().why, testing::StartsWith("rule \""));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RuleFaultTest,
    testing::Values(FaultCase{"", "has no \"when\", write NAME when"}, FaultCase{"cpu_busy > 95%", "has no \"when\""},
                    FaultCase{"A b when cpu_busy > 9%", "\"A b\" is no name, write up to 40 of a-z"},
                    FaultCase{"a when cpu_busy 95%", "has no \">\""},
                    FaultCase{"a when cpu_bussy > 95%", "\"cpu_bussy\" is not known, write one of cpu_busy, function"},
                    FaultCase{"a when cpu_busy > 95", "\"95\" has no percent sign, write 95%"},
                    FaultCase{"a when cpu_busy > 100%", "over 100% it can never be, write less than 100%"},
                    FaultCase{"a when cpu_busy of 3 > 9%", "\"of 3\" stands behind cpu_busy, which names nothing"},
                    FaultCase{"a when function > 9%", "function of what is missing"},
                    FaultCase{"a when unit a/b > 9%", "\"a/b\" is no unit"},
                    FaultCase{"a when pressure disk > 9%", "there is no pressure of \"disk\", write cpu, memory or io"},
                    FaultCase{"a when load > 95%", "\"95%\" is no load, write a number such as 8"},
                    FaultCase{"a when load > nan", "is no load"}, FaultCase{"a when loss > -1%", "is below 0%"},
                    FaultCase{"a when loss > 1% for 5", "has no unit"}, FaultCase{"a when loss > 1% for 2h", "2h"}));

}  // namespace
}  // namespace perfvigil::config
