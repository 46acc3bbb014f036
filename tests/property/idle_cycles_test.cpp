// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever else a machine does, cycles are said to count in idle only where its truth is that they do, and never faster
// than they did.
#include <gtest/gtest.h>

#include <random>

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
        cpu.polls = chance() < 0.3;
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
            polling += facts.polls && mostly_idle ? 1 : 0;
            seen += hertz > 0 ? 1 : 0;
            if (!facts.polls) {
                EXPECT_EQ(hertz, 0) << "busy " << facts.busy << ", steal " << facts.steal << ", lost " << facts.lost
                                    << ", removed " << facts.removed << ", throttled " << facts.throttled;
            }
            EXPECT_LE(hertz, static_cast<double>(facts.cycles_per_microsecond) * 1e6 * 1.001);
        });
    }
    // And where they do, the data often suffice to see it.
    EXPECT_GT(polling, 100);
    EXPECT_GT(seen, polling / 4);
}

}  // namespace
}  // namespace perfvigil::test
