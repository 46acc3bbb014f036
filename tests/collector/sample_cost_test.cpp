// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/sample_cost.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace perfvigil::collector {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A CPU whose samples cost what the test says, with a clock of its own.
class FakeWork final : public SampledWork, public Clock {
public:
    using Cost = std::function<Nanoseconds(int)>;  // of the n-th phase's samples
    explicit FakeWork(Cost cost) : cost_(std::move(cost)) {}

    WorkPhase run(Sampling sampling) override {
        WorkPhase phase;
        phase.elapsed = milliseconds(1) + drift_ * phases;
        if (sampling == Sampling::kOn) {
            phase.samples = samples;
            phase.elapsed += cost_(phases) * static_cast<std::int64_t>(samples);
        }
        phase.disturbed = disturb(phases);
        if (phase.disturbed) phase.elapsed += milliseconds(10);
        if (noise.count() > 0)
            phase.elapsed += Nanoseconds(std::uniform_int_distribution<std::int64_t>(0, noise.count())(random_));
        ++phases;
        now_ += phase.elapsed;
        return phase;
    }
    [[nodiscard]] MonotonicTime monotonic() const override { return now_; }
    [[nodiscard]] WallTime wall() const override { return {}; }

    std::function<bool(int)> disturb = [](int) { return false; };
    std::uint64_t samples = 25;
    Nanoseconds noise{};
    Nanoseconds drift_{};
    int phases = 0;

private:
    Cost cost_;
    MonotonicTime now_{};
    std::mt19937 random_{5};
};

FakeWork constant(Nanoseconds cost) {
    return FakeWork([cost](int) { return cost; });
}

TEST(SampleCost, IsTheDifferencePerSample) {
    for (const int micros : {5, 12, 16, 49}) {
        FakeWork work = constant(microseconds(micros));
        const SampleCost cost = calibrate_sample_cost(work, work);
        EXPECT_FALSE(cost.assumed) << cost.why;
        EXPECT_EQ(cost.value, microseconds(micros));
        EXPECT_LT(work.monotonic(), MonotonicTime(milliseconds(120))) << "a quiet host is done early";
    }
}

TEST(SampleCost, PhasesThatWereDisturbedDoNotCount) {
    FakeWork work = constant(microseconds(12));
    work.disturb = [](int phase) { return phase % 3 != 0; };
    EXPECT_TRUE(calibrate_sample_cost(work, work).assumed) << "no pair without a disturbance";
    FakeWork some = constant(microseconds(12));
    some.disturb = [](int phase) { return phase % 4 == 0; };
    const SampleCost cost = calibrate_sample_cost(some, some);
    EXPECT_FALSE(cost.assumed) << cost.why;
    EXPECT_EQ(cost.value, microseconds(12));
}

TEST(SampleCost, OutliersAndDriftDoNotMoveIt) {
    // Every seventh phase is stolen from unseen; the CPU slows down all the time.
    FakeWork work([](int phase) { return phase % 7 == 0 ? Nanoseconds(microseconds(900)) : microseconds(14); });
    work.drift_ = microseconds(1);
    work.noise = microseconds(20);
    const SampleCost cost = calibrate_sample_cost(work, work);
    EXPECT_FALSE(cost.assumed) << cost.why;
    EXPECT_NEAR(static_cast<double>(cost.value.count()), 14000, 700);
}

TEST(SampleCost, WhatIsNotPlausibleIsNotBelieved) {
    for (const Nanoseconds real : {Nanoseconds(microseconds(1)), Nanoseconds(microseconds(80)), Nanoseconds(-3000)}) {
        FakeWork work = constant(real);
        const SampleCost cost = calibrate_sample_cost(work, work);
        EXPECT_TRUE(cost.assumed);
        EXPECT_EQ(cost.value, kAssumedSampleCost);
        EXPECT_FALSE(cost.why.empty());
    }
}

TEST(SampleCost, NoiseBeyondTheSignalIsSaid) {
    std::mt19937 random(1);
    FakeWork work(
        [&](int) { return Nanoseconds(std::uniform_int_distribution<std::int64_t>(-40'000, 60'000)(random)); });
    const SampleCost cost = calibrate_sample_cost(work, work, milliseconds(60));
    EXPECT_TRUE(cost.assumed);
    EXPECT_NE(cost.why.find("too noisy"), std::string::npos) << cost.why;
}

TEST(SampleCost, EndsInTimeWithoutSamples) {
    FakeWork work = constant(microseconds(12));
    work.samples = 3;  // throttled
    const SampleCost cost = calibrate_sample_cost(work, work);
    EXPECT_TRUE(cost.assumed);
    EXPECT_NE(cost.why.find("too busy"), std::string::npos) << cost.why;
    EXPECT_LT(work.monotonic(), MonotonicTime(milliseconds(1010)));
}

}  // namespace
}  // namespace perfvigil::collector
