// SPDX-License-Identifier: GPL-2.0-or-later
// The machine of these numbers: 99 Hz, 1000 ticks, cycles as a rate of each CPU.
#include "analyzer/idle_cycles.hpp"

#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

CpuSlice cpu_of(std::uint64_t busy, double counted_hertz) {
    test::ObservedProfile profile;
    CpuSlice cpu = profile.cpu(busy).sum;
    cpu.cycles_recorded = true;
    cpu.cycles_counted = static_cast<std::uint64_t>(counted_hertz * to_seconds(cpu.enabled));
    return cpu;
}

void set_times(CpuSlice& cpu, double busy) {
    const auto all = static_cast<std::uint64_t>(cpu.enabled.count());
    cpu.times_known = true;
    cpu.times.user = static_cast<std::uint64_t>(busy * static_cast<double>(all));
    cpu.times.idle = all - cpu.times.user;
}

TEST(MostBusy, IsTheHigherOfTwoWitnesses) {
    CpuSlice cpu = cpu_of(100, 0);
    const double by_samples = busy_of(cpu, kZ999).interval.high;
    EXPECT_DOUBLE_EQ(most_busy(cpu).value(), by_samples);
    set_times(cpu, 0.05);
    EXPECT_DOUBLE_EQ(most_busy(cpu).value(), by_samples);
    set_times(cpu, 0.6);
    EXPECT_NEAR(most_busy(cpu).value(), 0.6, 1e-9);
}

TEST(MostBusy, WithoutProcStatIdleMustHaveBeenSeen) {
    CpuSlice cpu = cpu_of(0, 0);
    cpu.samples = cpu.idle_samples = 0;  // nothing at all was written
    EXPECT_FALSE(most_busy(cpu));
    cpu.samples = cpu.idle_samples = 300;
    EXPECT_NEAR(most_busy(cpu).value(), 1 - wilson(300, 1000, kZ999).low, 1e-12) << "what was not seen may be busy";
    cpu.clock_recorded = false;
    EXPECT_FALSE(most_busy(cpu));
}

TEST(IdleCycles, AreWhatNoCpuCanHaveMadeInItsBusyTime) {
    EXPECT_NEAR(idle_cycles_hertz(cpu_of(0, 1e9)), 0.935e9, 1e7);
    const double busy = most_busy(cpu_of(100, 3e9)).value();
    EXPECT_NEAR(idle_cycles_hertz(cpu_of(100, 3e9)), (3e9 - busy * 7e9) / (1 - busy), 10);
    EXPECT_EQ(idle_cycles_hertz(cpu_of(100, 1e9)), 0) << "a tenth of the time at 10 GHz: not proved";
    EXPECT_EQ(idle_cycles_hertz(cpu_of(600, 6.9e9)), 0) << "not mostly idle";
}

TEST(IdleCycles, AreNotSeenWhereTheyStop) {
    for (const std::uint64_t busy : {0U, 1U, 20U, 100U, 300U, 490U}) {
        EXPECT_EQ(idle_cycles_hertz(cpu_of(busy, 6.2e9 * static_cast<double>(busy) / 1000)), 0) << busy;
    }
    EXPECT_EQ(idle_cycles_hertz(cpu_of(0, 0.25e9)), 0) << "interrupts, which no sample of a clock shows";
    CpuSlice uncounted = cpu_of(0, 3e9);
    uncounted.cycles_recorded = false;
    EXPECT_EQ(idle_cycles_hertz(uncounted), 0);
}

TEST(IdleCycles, AreNoExcuseForAClockThatStoodStill) {
    CpuSlice cpu = cpu_of(0, 3e9);
    cpu.samples = cpu.idle_samples = 0;
    EXPECT_EQ(idle_cycles_hertz(cpu), 0);
    set_times(cpu, 1);
    EXPECT_EQ(idle_cycles_hertz(cpu), 0) << "it was busy, only not sampled";
    set_times(cpu, 0.01);
    EXPECT_GT(idle_cycles_hertz(cpu), 2.8e9) << "idle CPUs whose ticks leave no samples";
}

TEST(EffectiveHertz, IsNotAvailableWhereIdleIsPartOfIt) {
    const double idle_hertz = idle_cycles_hertz(cpu_of(0, 3e9));
    ASSERT_GT(idle_hertz, 2.5e9);
    EXPECT_EQ(effective_hertz(cpu_of(600, 3e9), idle_hertz), 0) << "would be 5 GHz";
    EXPECT_NEAR(effective_hertz(cpu_of(600, 3e9), 0), 5e9, 1e7);
    EXPECT_NEAR(effective_hertz(cpu_of(1000, 3e9), idle_hertz), 3e9, 1e7) << "a full CPU has no idle";
    EXPECT_NEAR(effective_hertz(cpu_of(400, 1.2e9), idle_hertz), 3e9, 1e7) << "this one stops, whatever others do";
    EXPECT_EQ(effective_hertz(cpu_of(2, 3e9), idle_hertz), 0) << "nor where hardly anything ran";
}

TEST(EffectiveHertz, IsNotAvailableAboveWhatCpusRunAt) {
    EXPECT_EQ(effective_hertz(cpu_of(100, 1e9), 0), 0) << "would be 10 GHz";
    EXPECT_NEAR(effective_hertz(cpu_of(200, 1.2e9), 0), 6e9, 1e7);
}

}  // namespace
}  // namespace perfvigil::analyzer
