// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/ledger_truth.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/ledger.hpp"
#include "tests/support/slice_collector.hpp"

namespace perfvigil::test {
namespace {

using analyzer::ClockLedger;
using analyzer::CpuSlice;

constexpr double kStatGrain = 10e6;   // ns
constexpr double kStateLength = 2e6;  // mean, ns
constexpr double kSigmas = 4.5;

double ns(Nanoseconds time) { return static_cast<double>(time.count()); }

void expect_counters(const CpuSlice& cpu, const SyntheticTruth& truth, const SyntheticOptions& options) {
    EXPECT_EQ(cpu.enabled, truth.enabled);
    EXPECT_NEAR(cpu.ticks_due, truth.ticks_due, 1e-6 * truth.ticks_due);
    EXPECT_EQ(cpu.samples, truth.samples);
    EXPECT_EQ(cpu.idle_samples, truth.idle_samples);
    EXPECT_EQ(cpu.throttled, truth.throttled_time);
    if (options.lost_counts) {
        EXPECT_EQ(cpu.lost, truth.lost);
        EXPECT_EQ(cpu.lost_time, truth.weights.lost);
        EXPECT_EQ(cpu.cycles_lost, truth.cycles_lost);
    } else {
        // No more of a ring's losses are the clock's than ticks are missing, which is known to a tick at each end of a
        // stretch; and a loss may be told in the slice behind its own.
        EXPECT_LE(cpu.lost, truth.lost_said);
        if (cpu.lost == truth.lost_said) {
            EXPECT_NEAR(ns(cpu.lost_time), ns(truth.weights.lost_said), 1);
        }
    }
    EXPECT_EQ(cpu.cycles_sampled, truth.cycles_sampled);
    EXPECT_EQ(cpu.cycles_idle, truth.cycles_idle);
    EXPECT_EQ(cpu.cycles_throttled, truth.cycles_throttled);
    // The two counters of a CPU are read at one moment here.
    if (options.cycles) {
        EXPECT_EQ(cpu.cycles_absent, Nanoseconds{});
    }
    if (options.cycles && options.cycles_running >= 1) {
        EXPECT_EQ(cpu.cycles_counted, truth.cycles);
    }
}

}  // namespace

LedgerRecording::LedgerRecording(SyntheticOptions options) : stream(std::move(options)) {
    SliceCollector sink(stream.events(), analyzer::KernelText(stream.host().text_ranges));
    if (!stream.host().cpu_times.empty()) sink.builder.set_baseline_times(stream.host().cpu_times.front().cpus);
    stream.run(sink);
    slices = std::move(sink.slices);
}

void expect_true(const CpuSlice& cpu, const SyntheticTruth& truth, const SyntheticOptions& options) {
    expect_counters(cpu, truth, options);
    const ClockLedger ledger = clock_ledger(cpu);
    EXPECT_EQ(ledger.total, truth.enabled.count());
    EXPECT_EQ(ledger.busy, truth.weights.busy.count());
    EXPECT_EQ(ledger.idle, truth.weights.idle.count());
    EXPECT_EQ(ledger.irq_in_idle, truth.weights.irq_in_idle.count());
    EXPECT_EQ(ledger.throttled, truth.throttled_time.count());
    if (options.lost_counts) {
        EXPECT_EQ(ledger.lost, truth.weights.lost.count());
    }
    EXPECT_EQ(ledger.total, ledger.busy + ledger.idle + ledger.irq_in_idle + ledger.lost + ledger.throttled +
                                ledger.idle_unsampled + ledger.stolen + ledger.unexplained);
    if (!options.lost_counts) return;

    // What samples and records do not explain, split by /proc/stat. Of idle time that no sample shows it cannot tell
    // whether it was lost, or vanished, or never written, so all of it counts up to what is left to explain. It is
    // known to its grain; ticks show a share of the time only by chance, off by about the root of its binomial
    // variance; and where the kernel's rows are of a longer stretch than the events', so is the share of the one in the
    // other.
    const double enabled = ns(truth.enabled);
    const auto period = ns(truth.longest_period);
    const auto by_chance = [&](Nanoseconds time) {
        const double share = ns(time) / enabled;
        const double of_ticks = truth.ticks_due * share * (1 - share) * period * period;
        const double of_stretch = 2 * share * (1 - share) * kStateLength * enabled;
        return kSigmas * std::sqrt(of_ticks + of_stretch);
    };
    const double grain = 2 * kStatGrain + 2 * period;
    if (!cpu.times_known) {
        EXPECT_EQ(ledger.idle_unsampled, 0);
        EXPECT_EQ(ledger.stolen, 0);
        const Nanoseconds unseen = truth.weights.removed + truth.weights.idle_unsampled + truth.weights.stolen;
        EXPECT_NEAR(static_cast<double>(ledger.unexplained), ns(unseen), grain);
        return;
    }
    const auto& weights = truth.weights;
    Nanoseconds rest = weights.removed + weights.idle_unsampled + weights.stolen;
    const Nanoseconds idle_unsampled = std::min(rest, std::max(Nanoseconds{}, truth.idle - weights.idle));
    rest -= idle_unsampled;
    const Nanoseconds stolen = std::min(rest, truth.stolen);
    rest -= stolen;
    const double idle_grain = grain + by_chance(truth.idle);
    const double grain_of_both = idle_grain + by_chance(truth.stolen);
    EXPECT_NEAR(static_cast<double>(ledger.idle_unsampled), ns(idle_unsampled), idle_grain);
    EXPECT_NEAR(static_cast<double>(ledger.stolen), ns(stolen), grain_of_both);
    EXPECT_NEAR(static_cast<double>(ledger.unexplained), ns(rest), grain_of_both);
}

}  // namespace perfvigil::test
