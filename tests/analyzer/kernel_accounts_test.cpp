// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/kernel_accounts.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

using std::chrono::seconds;

// A minute at 99 Hz: `busy` of it by samples, `by_stat` by /proc/stat.
CpuSlice minute(double busy, double by_stat) {
    CpuSlice cpu;
    cpu.clock_recorded = true;
    cpu.enabled = seconds(60);
    cpu.ticks_due = 5940;
    cpu.samples = 5940;
    cpu.idle_samples = static_cast<std::uint64_t>((1 - busy) * 5940);
    cpu.times_known = true;
    cpu.times.user = static_cast<std::uint64_t>(by_stat * 60e9);
    cpu.times.idle = 60'000'000'000 - cpu.times.user;
    return cpu;
}

TEST(KernelAccounts, AgreeWithinTheInterval) {
    for (const double busy : {0.0, 0.1, 0.5, 1.0}) {
        EXPECT_NEAR(busy_by_proc_stat(minute(busy, busy)).value(), busy, 1e-9);
        EXPECT_EQ(busy_disagreement(minute(busy, busy)), 0);
    }
    EXPECT_EQ(busy_disagreement(minute(0.50, 0.51)), 0) << "chance";
}

TEST(KernelAccounts, DisagreeBySoMuchAndWithTheirSign) {
    // 50 % of 5940 ticks is known to ±2.1 points at 99.9 %.
    EXPECT_NEAR(busy_disagreement(minute(0.5, 0.7)).value(), 0.2 - 0.0213, 0.002);
    EXPECT_NEAR(busy_disagreement(minute(0.5, 0.3)).value(), -0.2 + 0.0213, 0.002);
}

TEST(KernelAccounts, IowaitIsIdleAndStealIsNeither) {
    auto cpu = minute(0.5, 0.5);
    cpu.times.idle -= 10'000'000'000;
    cpu.times.iowait = 10'000'000'000;
    EXPECT_EQ(busy_disagreement(cpu), 0);
    cpu.times.iowait = 0;
    cpu.times.steal = 10'000'000'000;
    EXPECT_NEAR(busy_by_proc_stat(cpu).value(), 0.5, 1e-9);
}

TEST(KernelAccounts, SayNothingWhereTheyCannot) {
    auto cpu = minute(0.5, 0.5);
    cpu.times_known = false;
    EXPECT_FALSE(busy_by_proc_stat(cpu));
    cpu = minute(0.5, 0.5);
    cpu.times.idle = 0;  // it was offline for half of the minute
    EXPECT_FALSE(busy_by_proc_stat(cpu));
    EXPECT_FALSE(busy_disagreement(cpu));
    cpu = minute(0.5, 0.5);
    cpu.clock_recorded = false;
    EXPECT_FALSE(busy_disagreement(cpu));
}

TEST(KernelAccounts, WaitingIsAPartOfWhatTasksWanted) {
    ProfileCpu cpu;
    cpu.sum = minute(1, 1);
    cpu.busy = busy_of(cpu.sum);
    EXPECT_EQ(waiting_of({cpu}).share(), 0);
    cpu.run_delay_ns = 60'000'000'000;  // one task ran, one waited, all the time
    EXPECT_NEAR(waiting_of({cpu}).share(), 0.5, 1e-9);
    EXPECT_NEAR(waiting_of({cpu, cpu}).waited, 120e9, 1);
    cpu.run_delay_ns = 540'000'000'000;
    EXPECT_NEAR(waiting_of({cpu}).share(), 0.9, 1e-9);
    cpu.busy.known = false;
    EXPECT_EQ(waiting_of({cpu}).waited, 0);
}

}  // namespace
}  // namespace perfvigil::analyzer
