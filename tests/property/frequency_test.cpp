// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever happens to the clock and to the counter, a CPU's effective frequency is right or absent, slice by slice and
// over the whole recording; and it is there wherever nothing stands against it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "analyzer/ledger.hpp"
#include "tests/support/ledger_truth.hpp"

namespace perfvigil::test {
namespace {

using analyzer::CpuSlice;
using analyzer::NoFrequency;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kHertz = 3e9;   // of every SyntheticCpu
constexpr double kRange = 0.03;  // half of what may be missing, and the grain
constexpr double kSigmas = 4.5;

// Samples show by chance how busy the CPU was.
double tolerance(const CpuSlice& cpu, const SyntheticTruth& truth) {
    const double busy = std::min(1.0, to_seconds(truth.task + truth.irq_in_idle) / to_seconds(truth.enabled));
    const double seen = std::max(1.0, busy * static_cast<double>(cpu.ticks_due - static_cast<double>(truth.lost)));
    return kHertz * (kRange + kSigmas * std::sqrt((1.02 - busy) / seen));
}

struct Sum {
    CpuSlice cpu;
    SyntheticTruth truth;
};

// Visits each slice of each CPU, then the sum of all of that CPU's.
template <class Visit>
void each_and_sum(const SyntheticOptions& options, Visit&& visit) {
    std::map<std::uint32_t, Sum> sums;
    LedgerRecording(options).each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
        visit(cpu, truth);
        Sum& sum = sums[cpu.cpu.value];
        analyzer::accumulate(sum.cpu, cpu);
        sum.truth += truth;
    });
    for (const auto& [number, sum] : sums) visit(sum.cpu, sum.truth);
}

SyntheticCpu any_cpu(std::mt19937_64& random) {
    const auto chance = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
    const auto sometimes = [&](double most) { return chance() < 0.4 ? most * std::pow(chance(), 2) : 0; };
    SyntheticCpu cpu{.busy = chance() < 0.3 ? 1 : chance(), .samples_idle = chance() < 0.5};
    cpu.steal = sometimes(0.5);
    cpu.lost = sometimes(0.9);
    cpu.lost_time_share = chance();
    cpu.throttled = sometimes(0.6);
    cpu.cycles_throttled = sometimes(0.7);
    if (chance() < 0.3) cpu.busy_when_throttled = chance() < 0.5 ? 1 : 0;
    if (chance() < 0.3) cpu.unthrottles_lost = chance();
    if (chance() < 0.2) cpu.offline = {{seconds(4), seconds(7)}};
    if (chance() < 0.2) cpu.starts = milliseconds(static_cast<int>(6000 * chance()));
    return cpu;
}

TEST(EffectiveFrequency, IsRightOrAbsent) {
    std::mt19937_64 random(3);
    int told = 0;
    int withheld = 0;
    for (int machine = 0; machine < 120; ++machine) {
        SyntheticOptions options;
        options.seed = random();
        options.hertz = 99 + random() % 400;
        options.slices = 3;
        options.cycles_running = random() % 5 == 0 ? 0.5 : 1;
        options.cpus.clear();
        for (int i = 0; i < 4; ++i) options.cpus.push_back(any_cpu(random));
        each_and_sum(options, [&](const CpuSlice& cpu, const SyntheticTruth& truth) {
            const auto& facts = options.cpus[cpu.cpu.value];
            const auto frequency = analyzer::frequency_of(cpu);
            ++(frequency.hertz > 0 ? told : withheld);
            EXPECT_EQ(frequency.hertz > 0, frequency.why == NoFrequency::kNone);
            if (frequency.hertz <= 0) return;
            EXPECT_NEAR(frequency.hertz, kHertz, tolerance(cpu, truth))
                << "machine " << machine << " cpu " << cpu.cpu.value << ": busy " << facts.busy << ", lost "
                << facts.lost << ", throttled " << facts.throttled << ", cycles " << facts.cycles_throttled
                << ", records lost " << facts.unthrottles_lost;
        });
    }
    EXPECT_GT(told, 500);
    EXPECT_GT(withheld, 200);
}

TEST(EffectiveFrequency, IsThereWhereNothingStandsAgainstIt) {
    SyntheticOptions options;
    options.cpus = {{.busy = 0.1}, {.busy = 0.5, .samples_idle = false}, {.busy = 1}, {.busy = 0.4, .steal = 0.3}};
    each_and_sum(options, [&](const CpuSlice& cpu, const SyntheticTruth& truth) {
        if (analyzer::busy_of(cpu).interval.low < 0.05) return;
        EXPECT_NEAR(analyzer::frequency_of(cpu).hertz, kHertz, tolerance(cpu, truth)) << "cpu " << cpu.cpu.value;
    });
}

// A full CPU worked while its counter stood still, too: what it counted is of the rest of the time.
TEST(EffectiveFrequency, OfAFullCpuSurvivesThrottledCycles) {
    SyntheticOptions options;
    options.cpus = {{.busy = 1, .cycles_throttled = 0.3}, {.busy = 1, .cycles_throttled = 0.6}};
    each_and_sum(options, [&](const CpuSlice& cpu, const SyntheticTruth& truth) {
        EXPECT_LT(static_cast<double>(truth.cycles), 0.72 * kHertz * to_seconds(truth.task));
        EXPECT_NEAR(analyzer::frequency_of(cpu).hertz, kHertz, tolerance(cpu, truth)) << "cpu " << cpu.cpu.value;
    });
}

// Of any other nobody knows which part of the work the counter missed.
TEST(EffectiveFrequency, IsAbsentWhereThrottledCyclesMayHaveBeenMuchOfTheWork) {
    for (const double when_throttled : {0.0, 0.5, 1.0}) {
        SyntheticOptions options;
        options.cpus = {{.busy = 0.5, .cycles_throttled = 0.1, .busy_when_throttled = when_throttled}};
        each_and_sum(options, [&](const CpuSlice& cpu, const SyntheticTruth&) {
            EXPECT_EQ(analyzer::frequency_of(cpu).why, NoFrequency::kCounterStood);
        });
    }
}

TEST(EffectiveFrequency, IsAbsentWhereTheClockMissedTheWork) {
    SyntheticOptions options;
    options.cpus = {{.busy = 0.5, .lost = 0.2}, {.busy = 0.5, .throttled = 0.2}};
    each_and_sum(options, [&](const CpuSlice& cpu, const SyntheticTruth&) {
        EXPECT_EQ(analyzer::frequency_of(cpu).why, NoFrequency::kClockSilent);
    });
    // Nothing tells of these but the kernel, which saw the CPU at work.
    options.cpus = {{.busy = 1, .removed = 0.3}};
    each_and_sum(options, [&](const CpuSlice& cpu, const SyntheticTruth&) {
        EXPECT_EQ(analyzer::frequency_of(cpu).why, NoFrequency::kBusyDisputed);
    });
}

// Slices with cycles and slices without, as in windows before and after a change of the recorded events.
TEST(EffectiveFrequency, OfAPartOfTheTimeIsTheWholesOnlyWhereItCovers) {
    CpuSlice with;
    with.clock_recorded = true;
    with.enabled = seconds(60);
    with.ticks_due = 5940;
    with.samples = 5940;
    with.idle_samples = 2970;
    with.cycles_recorded = true;
    with.cycles_counted = 90'000'000'000;
    CpuSlice without = with;
    without.cycles_recorded = false;
    without.cycles_counted = 0;
    EXPECT_NEAR(analyzer::frequency_of(with).hertz, 3e9, 1);
    EXPECT_EQ(analyzer::frequency_of(without).why, NoFrequency::kNotRecorded);
    for (const bool first : {true, false}) {
        CpuSlice sum;
        for (int i = 0; i < 2; ++i) analyzer::accumulate(sum, first == (i == 0) ? with : without);
        EXPECT_EQ(sum.cycles_absent, seconds(60));
        EXPECT_EQ(analyzer::frequency_of(sum).why, NoFrequency::kCounterStood);
        for (int i = 0; i < 98; ++i) analyzer::accumulate(sum, with);
        EXPECT_EQ(sum.cycles_absent, seconds(60));
        EXPECT_NEAR(analyzer::frequency_of(sum).hertz, 3e9, 3e9 * 0.011);
    }
}

}  // namespace
}  // namespace perfvigil::test
