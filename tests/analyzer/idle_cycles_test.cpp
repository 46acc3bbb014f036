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

TEST(EffectiveHertz, WithoutSamplesOfCyclesIsNotAvailableWhereIdleIsPartOfIt) {
    const double idle_hertz = idle_cycles_hertz(cpu_of(0, 3e9));
    ASSERT_GT(idle_hertz, 2.5e9);
    EXPECT_EQ(effective_hertz(cpu_of(600, 3e9), idle_hertz), 0) << "would be 5 GHz";
    EXPECT_NEAR(effective_hertz(cpu_of(600, 3e9), 0), 5e9, 1e7);
    EXPECT_NEAR(effective_hertz(cpu_of(1000, 3e9), idle_hertz), 3e9, 1e7) << "a full CPU has no idle";
    EXPECT_NEAR(effective_hertz(cpu_of(400, 1.2e9), idle_hertz), 3e9, 1e7) << "this one stops, whatever others do";
    EXPECT_EQ(effective_hertz(cpu_of(2, 3e9), idle_hertz), 0) << "nor where hardly anything ran";
}

// A CPU of which 990 samples of cycles stand for all it counted, so many of a thousand parts of it in idle.
CpuSlice sampled_cpu(std::uint64_t busy, double counted_hertz, std::uint64_t idle_of_1000) {
    CpuSlice cpu = cpu_of(busy, counted_hertz);
    cpu.cycles_samples = 990;
    cpu.cycles_sampled = cpu.cycles_counted;
    cpu.cycles_idle = cpu.cycles_sampled * idle_of_1000 / 1000;
    return cpu;
}

TEST(IdleCycles, AreProvedBySamplesInIdleToo) {
    const CpuSlice cpu = sampled_cpu(333, 1e9, 667);
    const IdleCycles idle = idle_cycles(cpu);
    EXPECT_TRUE(idle.by_samples);
    EXPECT_NEAR(idle.share, wilson(0.667 * 990, 990, kZ999).low, 1e-3);
    EXPECT_NEAR(idle.busy_at_most, busy_of(cpu, kZ999).interval.high, 1e-12);
    EXPECT_GT(idle.hertz, 0.8e9);
    EXPECT_LT(idle.hertz, 1e9);
    EXPECT_GT(idle_cycles(sampled_cpu(700, 1e9, 300)).hertz, 0.6e9) << "nor need the CPU be mostly idle";
    EXPECT_FALSE(idle_cycles(sampled_cpu(5, 1e9, 995)).by_samples) << "here the other proof needs no luck";
}

TEST(IdleCycles, TheIdleLoopsOwnCodeIsNoProof) {
    EXPECT_EQ(idle_cycles_hertz(sampled_cpu(300, 0.9e9 + 0.35e9, 280)), 0) << "half a GHz in idle, 3 GHz at work";
    EXPECT_EQ(idle_cycles_hertz(sampled_cpu(300, 0.2e9, 700)), 0) << "0.2 GHz";
    CpuSlice lossy = sampled_cpu(333, 1e9, 667);
    EXPECT_GT(idle_cycles_hertz(lossy), 0);
    lossy.cycles_lost = 2000;
    EXPECT_EQ(idle_cycles_hertz(lossy), 0) << "what was lost may have been work";
}

TEST(EffectiveHertz, LeavesOutWhatSamplesInIdleStandFor) {
    const double idle_hertz = idle_cycles_hertz(cpu_of(0, 1e9));
    ASSERT_GT(idle_hertz, 0.9e9);
    for (const double known : {0.0, idle_hertz}) {
        EXPECT_NEAR(effective_hertz(sampled_cpu(333, 1e9, 667), known), 1e9, 1e7);
        EXPECT_NEAR(effective_hertz(sampled_cpu(700, 1e9, 300), known), 1e9, 1e7);
        EXPECT_NEAR(effective_hertz(sampled_cpu(400, 1.2e9, 0), known), 3e9, 1e7) << "this one stops in idle";
        EXPECT_NEAR(effective_hertz(sampled_cpu(500, 3e9 * 0.7, 286), known), 3e9, 3e7) << "this one in most of it";
    }
}

TEST(EffectiveHertz, IsNotAvailableWhereTooFewSamplesTellWorkFromIdle) {
    CpuSlice cpu = sampled_cpu(127, 1e9, 960);
    EXPECT_EQ(effective_hertz(cpu, 0), 0) << "would be 0.3 GHz, of 40 samples";
    cpu.cycles_samples *= 12;
    EXPECT_GT(effective_hertz(cpu, 0), 0);
}

TEST(EffectiveHertz, IsNotAvailableWhereSamplesLeaveTheCounterUnexplained) {
    CpuSlice cpu = sampled_cpu(333, 1e9, 0);
    cpu.cycles_sampled /= 3;
    EXPECT_EQ(effective_hertz(cpu, 0), 0) << "idle that leaves no samples";
    CpuSlice lossy = cpu;
    lossy.cycles_lost = 700;
    EXPECT_EQ(effective_hertz(lossy, 0), 0) << "a lost record may have told that the counter stood still";
    CpuSlice shared = cpu;
    shared.cycles_scaled = true;
    EXPECT_NEAR(effective_hertz(shared, 0), 3e9, 1e7);
    CpuSlice few = cpu;
    few.cycles_samples = 10;
    EXPECT_NEAR(effective_hertz(few, 0), 3e9, 1e7) << "long periods";
    for (const CpuSlice& each : {lossy, shared, few}) EXPECT_EQ(effective_hertz(each, 0.95e9), 0) << "idle counts here";
    CpuSlice full = sampled_cpu(1000, 3e9, 0);
    full.cycles_sampled = 0;
    EXPECT_NEAR(effective_hertz(full, 0), 3e9, 1e7);
}

TEST(EffectiveHertz, IsNotAvailableAboveWhatCpusRunAt) {
    EXPECT_EQ(effective_hertz(cpu_of(100, 1e9), 0), 0) << "would be 10 GHz";
    EXPECT_NEAR(effective_hertz(cpu_of(200, 1.2e9), 0), 6e9, 1e7);
}

}  // namespace
}  // namespace perfvigil::analyzer
