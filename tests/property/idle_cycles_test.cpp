// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever else a machine does, cycles are said to count in idle only where its truth is that they do, and never faster
// than they did; and a frequency is told only where it is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>

#include "analyzer/idle_cycles.hpp"
#include "tests/support/ledger_truth.hpp"

namespace perfvigil::test {
namespace {

using analyzer::CpuSlice;

// Any load with any fault of the clock: samples of idle or of work that are lost or never written, steal, throttling,
// CPUs that come and go; with /proc/stat or without.
SyntheticOptions any_machine(std::mt19937_64& random) {
    const auto chance = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
    const auto sometimes = [&](double most) { return chance() < 0.3 ? most * chance() : 0; };
    SyntheticOptions options;
    options.seed = random();
    options.slices = 2;
    options.proc_stat = chance() < 0.6;
    options.lost_counts = chance() < 0.8;
    options.cycles_running = chance() < 0.8 ? 1 : 0.3;
    options.cpus.clear();
    for (int i = 0; i < 4; ++i) {
        SyntheticCpu cpu{.busy = chance() < 0.4 ? 0.1 * chance() : chance(), .samples_idle = chance() < 0.6};
        cpu.irq_in_idle = sometimes(0.1);
        cpu.steal = sometimes(0.9);
        cpu.lost = sometimes(1);
        cpu.removed = sometimes(1);
        cpu.throttled = sometimes(1);
        if (chance() < 0.2) cpu.offline = {{std::chrono::seconds(4), std::chrono::seconds(7)}};
        cpu.cycles_per_microsecond = static_cast<std::uint64_t>(400 + 5800 * chance());
        cpu.polls = chance() < 0.3 ? 1 : sometimes(1);
        options.cpus.push_back(cpu);
    }
    return options;
}

TEST(IdleCyclesProperty, AreSeenOnlyWhereTheyAre) {
    std::mt19937_64 random(5);
    int polling = 0;
    int seen = 0;
    for (int machine = 0; machine < 150; ++machine) {
        const SyntheticOptions options = any_machine(random);
        SCOPED_TRACE("machine " + std::to_string(machine));
        LedgerRecording(options).each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t slice) {
            SCOPED_TRACE("slice " + std::to_string(slice) + " cpu " + std::to_string(cpu.cpu.value));
            const auto& facts = options.cpus[cpu.cpu.value];
            const double hertz = analyzer::idle_cycles_hertz(cpu);
            const bool mostly_idle = truth.idle * 4 > truth.enabled * 3;
            polling += facts.polls == 1 && mostly_idle ? 1 : 0;
            seen += hertz > 0 ? 1 : 0;
            if (facts.polls == 0) {
                EXPECT_EQ(hertz, 0) << "busy " << facts.busy << ", steal " << facts.steal << ", lost " << facts.lost
                                    << ", removed " << facts.removed << ", throttled " << facts.throttled;
            }
            // Chance decides when samples hit; three of a thousand proofs may be that wrong, and all are about 1200.
            EXPECT_LE(hertz, 1.1 * static_cast<double>(truth.cycles_in_idle) / to_seconds(truth.idle));
        });
    }
    // And where they do, the data often suffice to see it.
    EXPECT_GT(polling, 100);
    EXPECT_GT(seen, polling / 4);
}

// Lossless clocks of tasks, so that busy is as sure as its samples are many; idle polls or sleeps as it likes, and is
// sampled or not.
SyntheticOptions any_idle(std::mt19937_64& random) {
    const auto chance = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
    SyntheticOptions options;
    options.seed = random();
    options.slices = 2;
    options.slice = std::chrono::seconds(10);
    options.cpus.clear();
    for (int i = 0; i < 4; ++i) {
        SyntheticCpu cpu{.busy = chance(), .irq_in_idle = 0, .samples_idle = chance() < 0.7};
        cpu.cycles_per_microsecond = static_cast<std::uint64_t>(1000 + 3000 * chance());
        cpu.polls = chance() < 0.4 ? 1 : std::max(0.0, chance() - 0.3);
        options.cpus.push_back(cpu);
    }
    return options;
}

TEST(IdleCyclesProperty, AFrequencyIsThatOfWorkOrNone) {
    std::mt19937_64 random(6);
    int told = 0;
    int counting_in_idle = 0;
    for (int machine = 0; machine < 60; ++machine) {
        const SyntheticOptions options = any_idle(random);
        const LedgerRecording recording(options);
        for (std::size_t slice = 0; slice < recording.slices.size(); ++slice) {
            const auto& cpus = recording.slices[slice]->cpus;
            const double idle_hertz = analyzer::idle_cycles_hertz(std::span(cpus));
            for (const CpuSlice& cpu : cpus) {
                const auto& facts = options.cpus[cpu.cpu.value];
                const double hertz = analyzer::effective_hertz(cpu, idle_hertz);
                const double is = static_cast<double>(facts.cycles_per_microsecond) * 1e6;
                const auto busy = analyzer::busy_of(cpu);
                // As far as the samples of both events may be off; both see the same ticks, but not the same cycles.
                const double k = busy.ratio * cpu.ticks_due;
                // Of idle that leaves no samples a little may be part of it.
                const double off = 5 * std::sqrt((1.02 - busy.ratio) / std::max(1.0, k)) + 0.002 +
                                   (facts.polls > 0 && !facts.samples_idle ? 1 / 0.85 - 1 : 0);
                SCOPED_TRACE("machine " + std::to_string(machine) + " slice " + std::to_string(slice) + " cpu " +
                             std::to_string(cpu.cpu.value) + ", polls " + std::to_string(facts.polls));
                if (hertz > 0) {
                    EXPECT_NEAR(hertz, is, off * is);
                    ++told;
                    counting_in_idle += facts.polls > 0 ? 1 : 0;
                } else if (facts.polls == 0 || (facts.samples_idle && k > 150)) {
                    EXPECT_LT(busy.interval.low, 0.05) << "nothing hides what this one counted";
                }
            }
        }
    }
    EXPECT_GT(told, 250);
    EXPECT_GT(counting_in_idle, 120);
}

}  // namespace
}  // namespace perfvigil::test
