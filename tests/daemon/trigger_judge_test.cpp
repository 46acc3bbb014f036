// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/trigger_judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/trigger_format.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Nanoseconds kSlice = seconds(5);

config::TriggerOptions options(std::vector<const char*> rules) {
    config::TriggerOptions made;
    made.pause = std::chrono::minutes(10);
    made.per_hour = 3;
    for (const auto* rule : rules) made.rules.push_back(config::TriggerRuleFormat{}.parse(rule).value());
    return made;
}

class TriggerJudgeTest : public testing::Test {
protected:
    // One slice; which rules fire.
    std::vector<std::string> slice(std::vector<std::optional<double>> values) {
        std::vector<std::optional<Measure>> measures;
        for (const auto& value : values) {
            measures.push_back(value ? std::optional(Measure{*value, *value}) : std::nullopt);
        }
        now += kSlice;
        firings = judge.judge(measures, now, kSlice);
        std::vector<std::string> names;
        for (const auto& firing : firings) names.push_back(firing.rule.name);
        return names;
    }
    void pass(Nanoseconds time) { now += time; }

    WallTime now{std::chrono::hours(24 * 365 * 50)};
    TriggerJudge judge{options({"busy when cpu_busy > 90% for 15s", "loss when loss > 1%"})};
    std::vector<Firing> firings;
};

TEST_F(TriggerJudgeTest, FiresWhenItHasHeldForItsTime) {
    EXPECT_THAT(slice({0.95, 0.0}), IsEmpty());
    EXPECT_THAT(slice({0.99, 0.0}), IsEmpty());
    EXPECT_THAT(slice({0.97, 0.0}), ElementsAre("busy"));
    const auto& evidence = firings.front().evidence;
    EXPECT_NEAR(evidence.value, 0.97, 1e-9);
    EXPECT_EQ(evidence.limit, 0.9);
    EXPECT_EQ(evidence.held, seconds(15));
    EXPECT_EQ(evidence.text, "the CPUs were busy for 97.0 % over 15 s, never under 95.0 % (limit: 90%)");
    EXPECT_EQ(firings.front().at, now);
    EXPECT_THAT(slice({0.99, 0.0}), IsEmpty()) << "once";
}

TEST_F(TriggerJudgeTest, OneSliceUnderTheLimitBeginsAnew) {
    slice({0.95, 0.0});
    slice({0.95, 0.0});
    EXPECT_THAT(slice({0.90, 0.0}), IsEmpty()) << "at the limit is not over it";
    slice({0.95, 0.0});
    slice({0.95, 0.0});
    EXPECT_THAT(slice({std::nullopt, 0.0}), IsEmpty()) << "what is not known does not hold";
    slice({0.95, 0.0});
    slice({0.95, 0.0});
    EXPECT_THAT(slice({0.95, 0.0}), ElementsAre("busy"));
}

TEST_F(TriggerJudgeTest, EvenTheLowerEndMustBeOver) {
    const std::vector<std::optional<Measure>> wide{Measure{0.95, 0.85}, Measure{0.02, 0.009}};
    for (int i = 0; i < 5; ++i) EXPECT_THAT(judge.judge(wide, now += kSlice, kSlice), IsEmpty());
    EXPECT_THAT(judge.counts(), ElementsAre(TriggerCounts{"busy", 0, 0}, TriggerCounts{"loss", 0, 0}));
}

TEST_F(TriggerJudgeTest, ItsPauseHoldsItBack) {
    EXPECT_THAT(slice({0.0, 0.5}), ElementsAre("loss"));
    slice({0.0, 0.0});
    EXPECT_THAT(slice({0.0, 0.5}), IsEmpty());
    EXPECT_THAT(slice({0.0, 0.5}), IsEmpty());
    EXPECT_THAT(judge.counts(), ElementsAre(TriggerCounts{"busy", 0, 0}, TriggerCounts{"loss", 1, 1}))
        << "held back once, however long it holds";
    slice({0.0, 0.0});
    pass(std::chrono::minutes(10));
    EXPECT_THAT(slice({0.0, 0.5}), ElementsAre("loss"));
}

TEST_F(TriggerJudgeTest, AllRulesTogetherHaveALimit) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(slice({0.0, 0.5}), ElementsAre("loss"));
        slice({0.0, 0.0});
        pass(std::chrono::minutes(11));
    }
    EXPECT_THAT(slice({0.0, 0.5}), IsEmpty()) << "three within the hour";
    slice({0.0, 0.0});
    pass(std::chrono::minutes(40));
    EXPECT_THAT(slice({0.0, 0.5}), ElementsAre("loss"));
}

TEST_F(TriggerJudgeTest, WhatWasBeforeTheStartCounts) {
    judge.remember("loss", now - std::chrono::minutes(5));
    judge.remember("gone", now - std::chrono::minutes(5));
    EXPECT_THAT(slice({0.0, 0.5}), IsEmpty());
    slice({0.95, 0.0});
    slice({0.95, 0.0});
    EXPECT_THAT(slice({0.95, 0.0}), ElementsAre("busy"));
    slice({0.0, 0.0});
    pass(std::chrono::minutes(10));
    EXPECT_THAT(slice({0.0, 0.5}), IsEmpty()) << "the third within the hour was busy";
}

TEST_F(TriggerJudgeTest, AClockThatIsSetBackStopsNothing) {
    EXPECT_THAT(slice({0.0, 0.5}), ElementsAre("loss"));
    slice({0.0, 0.0});
    pass(-std::chrono::hours(24));
    EXPECT_THAT(slice({0.0, 0.5}), ElementsAre("loss"));
}

TEST_F(TriggerJudgeTest, AReloadKeepsWhatStayedTheSame) {
    EXPECT_THAT(slice({0.0, 0.5}), ElementsAre("loss"));
    slice({0.95, 0.0});
    slice({0.95, 0.0});
    judge.configure(options({"loss when loss > 1%", "busy when cpu_busy > 80% for 15s"}));
    EXPECT_THAT(slice({0.5, 0.95}), IsEmpty()) << "loss is in its pause, busy is new";
    EXPECT_THAT(judge.counts(), ElementsAre(TriggerCounts{"loss", 1, 1}, TriggerCounts{"busy", 0, 0}));
}

}  // namespace
}  // namespace perfvigil::daemon
