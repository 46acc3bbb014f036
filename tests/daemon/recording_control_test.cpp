// SPDX-License-Identifier: GPL-2.0-or-later
// The loss loop and the budget against simulated hosts: what is lost follows from ring sizes, rates and how long the
// reader is away; what it costs from rates, depth and captures. Time is the number of slices.
#include "daemon/recording_control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "collector/negotiation.hpp"

namespace perfvigil::daemon {
namespace {

using collector::Tuning;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kKiB = 1024;

// A host of two CPUs, and a session that does what it is told two slices later.
class Host {
public:
    explicit Host(ControlLimits limits, Tuning asked = {},
                  RecordingControl::Captures captures = RecordingControl::Captures::kKept)
        : limits_(limits), control(limits, asked, captures), in_force(asked) {}

    // One slice of five seconds; the steps that it led to.
    std::vector<ControlStep> slice() {
        const double wanted = in_force.frequency * 5.0 * busy_cpus;
        const double held = static_cast<double>(in_force.sample_ring_bytes) / bytes_per_sample();
        // While the reader is away each ring takes what it holds.
        const double lost = std::max(0.0, in_force.frequency * away - held) * busy_cpus;
        sampling = wanted * cost_per_sample / (5 * cpus);
        processes = base + wanted * 2e-6 / (5 * cpus) + (control.keeps_captures() ? capture_cost : 0);
        if (slices % 12 == 7) burst += 12 * analysis;  // a window of a minute
        spend(5, 5 * (sampling + processes + burst));
        double told = sampling;
        if (slices < calibrated_after) {
            told = wanted * 15e-6 / (5 * cpus);
            untold_ += sampling - told;
        } else {
            told = std::max(0.0, told + std::exchange(untold_, 0));
        }
        SliceLoad load{.length = seconds(5),
                       .cpus = 2,
                       .samples = static_cast<std::uint64_t>(wanted - std::min(wanted, lost)),
                       .lost_samples = static_cast<std::uint64_t>(std::min(wanted, lost)),
                       .lost_side_band = side_band_needs > in_force.side_band_ring_bytes ? 10U : 0U,
                       .sampling = told,
                       .processes = processes + std::exchange(burst, 0),
                       .in_force = in_force};
        lost_last = load.lost_samples;
        auto steps = control.judge(load);
        all.insert(all.end(), steps.begin(), steps.end());
        if (next_) in_force = *std::exchange(next_, std::nullopt);
        // What is asked for now is opened towards the end of the next slice.
        if (control.tuning() != in_force && !refuses) next_ = control.tuning();
        ++slices;
        return steps;
    }
    void run(int count) {
        for (int i = 0; i < count; ++i) (void)slice();
    }
    int run_until(const std::function<bool()>& holds, int limit) {
        int i = 0;
        for (; i < limit && !holds(); ++i) (void)slice();
        return i;
    }
    void start(double took) {
        spend(0, took);
        control.start_took(took);
    }
    void spend(double length, double spent) {
        used += spent;
        history_.emplace_back(length, spent);
    }
    // The dearest five minutes of all.
    [[nodiscard]] double dearest() const {
        double most = 0;
        double length = 0;
        double spent = 0;
        for (std::size_t first = 0, next = 0; next < history_.size(); ++next) {
            length += history_[next].first;
            spent += history_[next].second;
            for (; length > 300; ++first) {
                length -= history_[first].first;
                spent -= history_[first].second;
            }
            most = std::max(most, spent / 300);
        }
        return most;
    }
    [[nodiscard]] double bytes_per_sample() const { return 64 + 8.0 * std::min<double>(in_force.max_stack, depth); }

    ControlLimits limits_;
    RecordingControl control;
    Tuning in_force;
    std::vector<ControlStep> all;
    int slices = 0;
    double cpus = 2;
    double busy_cpus = 2;
    double depth = 25;
    double away = 0;  // seconds without a drain, once a slice
    double cost_per_sample = 15e-6;
    double base = 0.0005;
    double capture_cost = 0.0005;
    double burst = 0;          // of the next slice: share
    double analysis = 0;       // of the windows: share, all of it in one slice of twelve
    int calibrated_after = 0;  // slices; what a sample costs is assumed until then
    std::uint64_t side_band_needs = 0;
    bool refuses = false;
    double used = 0;  // share × seconds
    double sampling = 0;
    double processes = 0;
    std::uint64_t lost_last = 0;

private:
    std::optional<Tuning> next_;
    double untold_ = 0;                               // share of a slice: what its assumed cost was too low by
    std::vector<std::pair<double, double>> history_;  // seconds, share × seconds
};

std::vector<Knob> knobs(const std::vector<ControlStep>& steps, Cause cause) {
    std::vector<Knob> made;
    for (const auto& step : steps) {
        if (step.cause == cause) made.push_back(step.knob);
    }
    return made;
}

Tuning small_rings(std::uint32_t hertz) {
    Tuning tuning;
    tuning.frequency = hertz;
    tuning.sample_ring_bytes = 32 * kKiB;
    return tuning;
}

constexpr ControlLimits kNoBudget{.rings_total = 128 * kKiB * kKiB, .budget = 0};
constexpr ControlLimits kOnePercent{.rings_total = 128 * kKiB * kKiB, .budget = 0.01};

TEST(LossLoop, NothingChangesWhereNothingIsLost) {
    Host host(kOnePercent);
    host.run(1000);
    EXPECT_THAT(host.all, IsEmpty());
    EXPECT_THAT(host.control.degraded(), IsEmpty());
}

TEST(LossLoop, RingsGrowUntilTheyHoldWhatComesWithinAMinute) {
    for (const double away : {0.02, 0.1, 0.5, 3.0}) {
        Host host(kNoBudget, small_rings(20000));
        host.away = away;
        host.run(1);
        ASSERT_GT(host.lost_last, 0U) << away;
        host.run(11);
        EXPECT_LE(host.lost_last, 200U) << away << ": a thousandth";
        EXPECT_THAT(knobs(host.all, Cause::kLoss), testing::Each(Knob::kSampleRing)) << away;
        EXPECT_EQ(host.in_force.frequency, 20000U);
        // Not more than what it takes, by its own sizing.
        const double needed = 20000 * away * host.bytes_per_sample();
        EXPECT_LE(static_cast<double>(host.in_force.sample_ring_bytes), 4.01 * needed) << away;
        EXPECT_THAT(host.control.degraded(), IsEmpty()) << "larger rings take nothing away";
    }
}

TEST(LossLoop, OldAndNewRingsFitIntoTheTotalTogether) {
    Host host({.rings_total = 8 * kKiB * kKiB, .budget = 0}, small_rings(20000));
    host.away = 4;
    const auto bytes = [](const Tuning& tuning) { return collector::ring_bytes(tuning, 2, 4096); };
    for (int i = 0; i < 100; ++i) {
        host.run(1);
        if (host.in_force == host.control.tuning()) continue;
        ASSERT_LE(bytes(host.in_force) + bytes(host.control.tuning()), 8 * kKiB * kKiB);
    }
    EXPECT_GE(host.in_force.sample_ring_bytes, 1024 * kKiB);
}

TEST(LossLoop, ThenFrequencyThenChainsThenItSaysThatNothingIsLeft) {
    Host host({.rings_total = 512 * kKiB * 2, .budget = 0}, small_rings(5000));
    host.away = 5;
    host.depth = 1000;
    host.in_force.side_band_ring_bytes = 32 * kKiB;
    host.control.ask(host.in_force);
    host.run(200);
    auto order = knobs(host.all, Cause::kLoss);
    order.erase(std::unique(order.begin(), order.end()), order.end());
    EXPECT_THAT(order, ElementsAre(Knob::kSampleRing, Knob::kFrequency));
    EXPECT_EQ(host.lost_last, 0U);
    ASSERT_THAT(host.control.degraded(), SizeIs(1));
    EXPECT_EQ(host.control.degraded()[0].reason, "reduced_by_loss");
    EXPECT_THAT(host.control.degraded()[0].detail, HasSubstr("instead of 5000 samples per second"));

    // A reader that is hardly ever there.
    host.away = 5000;
    host.run(300);
    order = knobs(host.all, Cause::kLoss);
    order.erase(std::unique(order.begin(), order.end()), order.end());
    ASSERT_GE(order.size(), 3U);
    EXPECT_EQ(order.back(), Knob::kMaxStack);
    EXPECT_EQ(host.in_force.max_stack, 16);
    EXPECT_EQ(host.in_force.frequency, 19U);
    EXPECT_THAT(host.control.degraded()[0].detail, HasSubstr("nothing is left to reduce further"));
    const auto steps = host.all.size();
    host.run(100);
    EXPECT_EQ(host.all.size(), steps);
}

TEST(LossLoop, CalmGivesBackOneStepAtATimeAndWaitsLongerWhereItWasNeeded) {
    Host host(kNoBudget, small_rings(5000));
    host.away = 1;
    host.run(20);
    EXPECT_EQ(host.lost_last, 0U);
    const auto grown = host.in_force.sample_ring_bytes;
    const auto needed = host.all.size();
    // Still away for a second: each give-back is needed again, and comes ever later.
    host.run(24 * 720);
    const auto given_back = knobs(host.all, Cause::kCalm).size();
    EXPECT_GE(given_back, 4U);
    EXPECT_LE(given_back, 24U) << "80 minutes apart in the end";
    EXPECT_LE(host.all.size(), needed + 3 * given_back);
    host.away = 0;
    host.run(3 * 960 + 10);
    EXPECT_LT(host.in_force.sample_ring_bytes, grown);
    EXPECT_EQ(host.in_force, small_rings(5000)) << "back to what was asked for";
    EXPECT_THAT(host.control.degraded(), IsEmpty());
}

TEST(LossLoop, AQuietHostGetsEverythingBackFiveMinutesAStep) {
    Host host(kNoBudget, small_rings(5000));
    host.away = 1;
    host.run(10);
    host.away = 0;
    const auto steps = host.all.size();
    ASSERT_GE(steps, 1U);
    const int slices = host.run_until([&] { return host.in_force == small_rings(5000); }, 1000);
    EXPECT_GE(slices, 60 * static_cast<int>(steps) - 10);
    EXPECT_LE(slices, 70 * static_cast<int>(steps));
    EXPECT_THAT(host.all.back().text, HasSubstr("calm for 5 minutes"));
}

TEST(LossLoop, ARingThatCannotGrowMakesTheFrequencyFall) {
    Host host(kNoBudget, small_rings(5000));
    host.away = 1;
    host.refuses = true;  // over the memory lock limit, say
    host.run(8);
    EXPECT_EQ(host.control.tuning().sample_ring_bytes, 32 * kKiB) << "what is wanted is what there is";
    host.refuses = false;
    host.run(40);
    EXPECT_LT(host.in_force.frequency, 5000U);
    EXPECT_EQ(host.lost_last, 0U);
}

TEST(LossLoop, SideBandLossGrowsTheSideBandRingAlone) {
    Host host(kNoBudget);
    host.side_band_needs = 3 * 1024 * kKiB;
    host.run(20);
    EXPECT_EQ(host.in_force.side_band_ring_bytes, 4096 * kKiB);
    EXPECT_EQ(host.in_force.sample_ring_bytes, Tuning{}.sample_ring_bytes);
    EXPECT_EQ(host.in_force.frequency, 99U);
}

TEST(LossLoop, WhatTheSessionGrewByItselfIsTakenOverAndGivenBack) {
    Host host(kNoBudget);
    host.run(1);
    host.in_force.side_band_ring_bytes *= 2;
    host.run(1);
    ASSERT_THAT(host.all, SizeIs(1));
    EXPECT_EQ(host.all[0].knob, Knob::kSideBandRing);
    EXPECT_EQ(host.control.tuning(), host.in_force);
    host.run(65);
    EXPECT_EQ(host.in_force, Tuning{});
}

TEST(Budget, StepsComeInTheirOrder) {
    Host host(kOnePercent);
    host.base = 0.0008;
    host.capture_cost = 0.0102;  // alone over the budget
    host.run(40);
    ASSERT_THAT(host.all, SizeIs(1));
    EXPECT_EQ(host.all[0].knob, Knob::kCaptures);
    EXPECT_THAT(host.all[0].text, HasSubstr("budget.cpu is 1 %: raw records are no longer kept"));
    EXPECT_FALSE(host.control.keeps_captures());
    EXPECT_EQ(host.in_force.frequency, 99U);
    host.run(200);
    EXPECT_THAT(host.all, SizeIs(1)) << "captures would cost as much again";
    host.cost_per_sample = 200e-6;
    host.run(40);
    EXPECT_LT(host.in_force.frequency, 99U);
    EXPECT_EQ(host.in_force.max_stack, 127);
    host.cost_per_sample = 5e-3;
    host.run(200);
    EXPECT_EQ(host.in_force.frequency, 19U);
    EXPECT_EQ(host.in_force.max_stack, 16);
    EXPECT_THAT(host.control.degraded()[0].detail, HasSubstr("nothing is left to reduce further"));
    auto order = knobs(host.all, Cause::kBudget);
    order.erase(std::unique(order.begin(), order.end()), order.end());
    EXPECT_THAT(order, ElementsAre(Knob::kCaptures, Knob::kFrequency, Knob::kMaxStack));
}

TEST(Budget, IsKeptWithinAFifthOverFiveMinutesFromAnyHighRateAndGivenBack) {
    std::mt19937 random(7);
    const auto between = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    for (int round = 0; round < 300; ++round) {
        const double budget = between(0.005, 0.02);
        const double cost = between(5e-6, 25e-6);
        // The first ten seconds are recorded as was asked for: up to six times the budget can be made up for.
        Tuning asked;
        asked.frequency = static_cast<std::uint32_t>(between(0.5, 6) * budget / cost);
        Host host({.rings_total = 128 * kKiB * kKiB, .budget = budget}, asked);
        host.cost_per_sample = cost;
        host.base = between(0.0, 0.3) * budget;
        host.capture_cost = between(0.0, 0.5) * budget;
        host.busy_cpus = between(0.5, 2);
        host.run(60);
        ASSERT_LE(host.used / 300, 1.2 * budget)
            << "round " << round << " from " << asked.frequency << " Hz, cost " << host.cost_per_sample;
        host.used = 0;
        host.run(60);
        ASSERT_LE(host.used / 300, 1.1 * budget) << "round " << round;
        if (host.in_force.frequency < asked.frequency) {
            EXPECT_GT(host.used / 300, 0.3 * budget) << "round " << round << ": no more is given up than needed";
        }
        // Two hours of the same: no to and fro.
        const auto steps = host.all.size();
        host.used = 0;
        host.run(1440);
        EXPECT_LE(host.all.size(), steps + 8) << "round " << round;
        EXPECT_LE(host.used / 7200, 1.02 * budget) << "round " << round;
        // The load ends.
        host.busy_cpus = 0.01;
        host.base = 0;
        host.capture_cost = 0.0001 * budget;
        host.run(60 * 16 * 6);
        EXPECT_EQ(host.in_force.frequency, asked.frequency) << "round " << round;
        EXPECT_EQ(host.in_force.max_stack, asked.max_stack);
        EXPECT_TRUE(host.control.keeps_captures());
        EXPECT_THAT(host.control.degraded(), IsEmpty());
    }
}

TEST(Budget, WhatTheStartTookIsPaidBackWithinTheFirstFiveMinutes) {
    std::mt19937 random(11);
    const auto between = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    for (int round = 0; round < 300; ++round) {
        const double budget = between(0.005, 0.02);
        const double cost = between(5e-6, 25e-6);
        Tuning asked;
        asked.frequency = static_cast<std::uint32_t>(between(0.5, 6) * budget / cost);
        Host host({.rings_total = 128 * kKiB * kKiB, .budget = budget}, asked);
        host.cost_per_sample = cost;
        host.base = between(0.0, 0.15) * budget;
        host.analysis = between(0.0, 0.1) * budget;
        host.capture_cost = between(0.0, 0.5) * budget;
        host.busy_cpus = between(0.5, 2);
        host.calibrated_after = round % 4 == 0 ? 2 : 0;
        host.start(between(0, 150) * budget);
        host.run(60);
        ASSERT_LE(host.used / 300, 1.2 * budget)
            << "round " << round << " from " << asked.frequency << " Hz, cost " << host.cost_per_sample;
        EXPECT_LE(host.all.size(), 6U) << "round " << round << ": each change costs something";
        // Paid back, it is the budget alone that decides.
        host.run(120);
        host.used = 0;
        host.run(60);
        EXPECT_LE(host.used / 300, 1.1 * budget) << "round " << round;
        if (host.in_force.frequency < asked.frequency) {
            EXPECT_GT(host.used / 300, 0.4 * budget) << "round " << round << ": no more is given up than needed";
        }
        const auto steps = host.all.size();
        host.run(1440);
        EXPECT_LE(host.all.size(), steps + 4) << "round " << round << ": no to and fro";
        EXPECT_LE(host.dearest(), 1.2 * budget) << "round " << round << ", any five minutes";
    }
}

TEST(Budget, LoadsThatComeAndGoAreAnsweredWithoutRunningAfterThem) {
    std::mt19937 random(13);
    const auto between = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    for (int round = 0; round < 200; ++round) {
        const double budget = between(0.005, 0.02);
        const double cost = between(5e-6, 25e-6);
        Tuning asked;
        asked.frequency = static_cast<std::uint32_t>(between(1, 5) * budget / cost);
        Host host({.rings_total = 128 * kKiB * kKiB, .budget = budget}, asked);
        host.cost_per_sample = cost;
        host.base = between(0.0, 0.15) * budget;
        host.capture_cost = between(0.0, 0.2) * budget;
        host.start(between(0, 60) * budget);
        const int on = static_cast<int>(between(12, 300));
        const int off = static_cast<int>(between(12, 300));
        std::size_t cycles = 0;
        for (; host.slices < 12 * 720; ++cycles) {
            host.busy_cpus = between(1, 2);
            host.run(on);
            host.busy_cpus = 0.05;
            host.run(off);
        }
        EXPECT_LE(host.dearest(), 1.2 * budget) << "round " << round << ", any five minutes of twelve hours";
        EXPECT_LE(host.all.size(), std::min<std::size_t>(6 * cycles, 12 * 16))
            << "round " << round << ", " << cycles << " of " << on << " and " << off << " slices";
    }
}

TEST(Budget, ABurstOfTheDaemonsOwnWorkThatFiveMinutesHoldChangesNothing) {
    Host host(kOnePercent);
    for (int i = 0; i < 300; ++i) {
        host.burst = i % 60 == 30 ? 0.45 : 0;  // 4.5 seconds of a CPU: symbols of a large new program
        host.run(1);
    }
    EXPECT_THAT(host.all, IsEmpty());
    EXPECT_LE(host.dearest(), 0.011);
}

TEST(Budget, ALongerOneIsPaidBackAndWhatItTookIsGivenBack) {
    Tuning asked;
    asked.frequency = 299;
    Host host(kOnePercent, asked);
    host.run(100);
    ASSERT_THAT(host.all, IsEmpty());
    host.burst = 0.5;
    host.run(1);
    const auto before = host.used;
    host.run(57);
    EXPECT_LT(host.in_force.frequency, asked.frequency);
    EXPECT_LE(0.5 * 5 + host.used - before, 1.2 * 0.01 * 300);
    EXPECT_EQ(host.in_force.max_stack, asked.max_stack) << "chains are kept where the use of now is within the budget";
    host.run(400);
    EXPECT_EQ(host.in_force, asked);
    EXPECT_TRUE(host.control.keeps_captures());
}

TEST(Budget, GivesBackFrequencyAsFarAsItLasts) {
    Tuning asked;
    asked.frequency = 4999;
    Host host(kOnePercent, asked);
    host.run(60);
    const auto low = host.in_force.frequency;
    ASSERT_LT(low, 1000U);
    host.busy_cpus = 0.5;  // a quarter of the load: about four times the frequency
    host.run(400);
    EXPECT_GT(host.in_force.frequency, 2 * low);
    EXPECT_LT(host.in_force.frequency, asked.frequency);
    EXPECT_LE(host.sampling + host.processes, 0.01);
}

TEST(Control, AnotherBudgetKeepsTheStepsAnotherTuningForgetsThem) {
    Tuning asked;
    asked.frequency = 4999;
    Host host(kOnePercent, asked);
    host.run(60);
    const auto reduced = host.control.tuning();
    ASSERT_NE(reduced, asked);
    host.control.set_budget(0.02);
    EXPECT_EQ(host.control.tuning(), reduced);
    host.control.set_budget(0.01);
    asked.frequency = 199;
    host.control.ask(asked);
    EXPECT_EQ(host.control.tuning(), asked);
    EXPECT_TRUE(host.control.keeps_captures());
    EXPECT_THAT(host.control.degraded(), IsEmpty());
    host.run(3);
    EXPECT_EQ(host.in_force, asked);
}

TEST(Control, WhatTheKernelLimitedIsTakenAsItIs) {
    Host host(kNoBudget);
    auto asked = Tuning{};
    asked.frequency = 100000;
    host.control.ask(asked);
    host.refuses = true;  // it stays at 99 Hz
    host.run(10);
    EXPECT_EQ(host.control.tuning().frequency, 99U);
    EXPECT_THAT(host.all, IsEmpty());
}

TEST(Control, EachStepIsCounted) {
    Host host(kNoBudget, small_rings(5000));
    host.away = 1;
    host.run(10);
    host.away = 0;
    host.run(400);
    StepCounts expected{};
    for (const auto& step : host.all)
        ++expected[static_cast<std::size_t>(step.knob)][static_cast<std::size_t>(step.cause)];
    EXPECT_EQ(host.control.counts(), expected);
    EXPECT_GT(host.control.counts()[0][2], 0U);
}

}  // namespace
}  // namespace perfvigil::daemon
