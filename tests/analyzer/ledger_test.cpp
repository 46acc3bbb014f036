// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/ledger.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "analyzer/kernel_accounts.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr Nanoseconds kPeriod{10101010};  // 99 Hz

// T of `ticks` periods, of whose samples `idle` showed idle and `busy` user code.
CpuSlice cpu_of(double ticks, std::uint64_t busy, std::uint64_t idle, std::uint64_t lost = 0) {
    CpuSlice cpu;
    cpu.clock_recorded = true;
    cpu.enabled = Nanoseconds(static_cast<std::int64_t>(ticks * static_cast<double>(kPeriod.count())));
    cpu.ticks_due = ticks;
    cpu.samples = busy + idle;
    cpu.idle_samples = idle;
    cpu.mode_time[index_of(Mode::kUser)] = static_cast<std::int64_t>(busy) * kPeriod;
    cpu.mode_time[index_of(Mode::kIdle)] = static_cast<std::int64_t>(idle) * kPeriod;
    cpu.lost = lost;
    cpu.lost_time = static_cast<std::int64_t>(lost) * kPeriod;
    return cpu;
}

// Values of the closed formula, from its definition: the bounds solve (p − k/n)² = z² p (1 − p) / n.
TEST(Wilson, BoundsSolveTheirEquation) {
    for (const double n : {1.0, 10.0, 99.5, 990.0}) {
        for (const double share : {0.0, 0.001, 0.1, 0.5, 0.9, 1.0}) {
            for (const double z : {kZ95, kZ999}) {
                const auto [low, high] = wilson(share * n, n, z);
                for (const double p : {low, high}) {
                    EXPECT_NEAR((p - share) * (p - share), z * z * p * (1 - p) / n, 1e-12);
                }
                EXPECT_LE(low, share);
                EXPECT_GE(high, share);
                EXPECT_GE(low, 0);
                EXPECT_LE(high, 1);
            }
        }
    }
}

TEST(Wilson, KnownValues) {
    // 10 % of 990 ticks at 95 %: 8.3 to 12.0 %; of 99: 5.5 to 17.5 %.
    EXPECT_NEAR(wilson(99, 990, kZ95).low, 0.083, 0.0006);
    EXPECT_NEAR(wilson(99, 990, kZ95).high, 0.120, 0.0006);
    EXPECT_NEAR(wilson(9.9, 99, kZ95).low, 0.055, 0.0006);
    EXPECT_NEAR(wilson(9.9, 99, kZ95).high, 0.175, 0.0006);
}

TEST(Wilson, Extremes) {
    EXPECT_EQ(wilson(0, 0, kZ95), (Interval{0, 1}));
    EXPECT_EQ(wilson(5, -1, kZ95), (Interval{0, 1}));
    EXPECT_EQ(wilson(0, 100, kZ95).low, 0);
    EXPECT_EQ(wilson(100, 100, kZ95).high, 1);
    EXPECT_EQ(wilson(101, 100, kZ95).high, 1);  // a tick more than due
}

TEST(Busy, OfFullDelivery) {
    const Busy busy = busy_of(cpu_of(495, 99, 396));
    EXPECT_TRUE(busy.known);
    EXPECT_DOUBLE_EQ(busy.ratio, 0.2);
    EXPECT_DOUBLE_EQ(busy.coverage, 1);
    EXPECT_LT(busy.interval.low, 0.2);
    EXPECT_GT(busy.interval.high, 0.2);
}

TEST(Busy, ThrottledTicksAreAsGoodAsLost) {
    CpuSlice cpu = cpu_of(1000, 600, 200);
    const Busy silent = busy_of(cpu);
    EXPECT_DOUBLE_EQ(silent.ratio, 0.6);
    cpu.throttled = cpu.enabled / 5;
    const Busy busy = busy_of(cpu);
    EXPECT_DOUBLE_EQ(busy.ratio, 0.75);
    EXPECT_DOUBLE_EQ(busy.interval.low, silent.interval.low);
    EXPECT_GT(busy.interval.high, 0.8);
    EXPECT_DOUBLE_EQ(busy.coverage, 0.8);
    cpu = cpu_of(495, 0, 0);
    cpu.throttled = cpu.enabled;  // all of it
    EXPECT_DOUBLE_EQ(busy_of(cpu).interval.low, 0);
    EXPECT_DOUBLE_EQ(busy_of(cpu).interval.high, 1);
    EXPECT_NEAR(busy_of(cpu).ratio, 0.5, 1e-9);
}

// A CPU that idles without ticks is throttled for want of them.
TEST(Busy, TicksThatAreSilentInIdleAreNotLost) {
    CpuSlice cpu = cpu_of(1000, 3, 97);
    cpu.throttled = cpu.enabled / 10 * 9;
    EXPECT_EQ(silent_time(cpu), cpu.throttled);
    EXPECT_GT(busy_of(cpu).interval.high, 0.9) << "nothing says that it was idle";
    cpu.times_known = true;
    cpu.times.idle = static_cast<std::uint64_t>(cpu.enabled.count()) / 1000 * 980;
    cpu.times.iowait = static_cast<std::uint64_t>(cpu.enabled.count()) / 1000 * 10;
    EXPECT_NEAR(to_seconds(silent_time(cpu)), 0.01 * to_seconds(cpu.enabled) + 0.02, 0.001);
    const Busy busy = busy_of(cpu);
    EXPECT_LT(busy.interval.high, 0.03);
    EXPECT_LE(busy.ratio, busy.interval.high) << "where samples come with waking, they are busier than the rest";
    EXPECT_GE(busy.ratio, busy.interval.low);
    cpu.times.idle = cpu.times.iowait = 0;
    EXPECT_EQ(silent_time(cpu), cpu.throttled) << "it was not idle";
}

// The kernel wrote no sample while the CPU was idle: the ticks due are what busy is a share of.
TEST(Busy, OfACpuThatWritesNoIdleSamples) {
    const Busy busy = busy_of(cpu_of(990, 99, 0));
    EXPECT_DOUBLE_EQ(busy.ratio, 0.1);
    EXPECT_DOUBLE_EQ(busy.coverage, 0.1);
    EXPECT_NEAR(busy.interval.low, 0.083, 0.0006);
    EXPECT_NEAR(busy.interval.high, 0.120, 0.0006);
}

TEST(Busy, LossWidensTheUpperEndAlone) {
    const Busy whole = busy_of(cpu_of(1000, 100, 800));
    const Busy lossy = busy_of(cpu_of(1000, 100, 800, 100));
    EXPECT_DOUBLE_EQ(lossy.ratio, 100.0 / 1000 * 1000 / 900);
    EXPECT_EQ(lossy.interval.low, whole.interval.low);
    EXPECT_EQ(lossy.interval.high, wilson(200, 1000, kZ95).high);
    EXPECT_EQ(busy_of(cpu_of(100, 50, 0, 1000)).interval.high, 1);  // no more than all ticks
}

TEST(Busy, WithoutASampleTheIntervalIsAllThatIsKnown) {
    const Busy idle = busy_of(cpu_of(495, 0, 0));
    EXPECT_TRUE(idle.known);
    EXPECT_EQ(idle.ratio, 0);
    EXPECT_EQ(idle.interval.low, 0);
    EXPECT_LT(idle.interval.high, 0.01);

    const Busy all_lost = busy_of(cpu_of(495, 0, 0, 495));
    EXPECT_EQ(all_lost.interval, (Interval{0, 1}));
    EXPECT_EQ(all_lost.ratio, 0.5);
}

TEST(Busy, Unknown) {
    EXPECT_FALSE(busy_of(CpuSlice{}).known);
    CpuSlice no_time = cpu_of(0, 3, 0);
    EXPECT_FALSE(busy_of(no_time).known);
    EXPECT_EQ(busy_of(no_time).interval, (Interval{}));
}

TEST(Busy, ATickMoreThanDueIsAllBusy) {
    const Busy busy = busy_of(cpu_of(494.6, 495, 0));
    EXPECT_EQ(busy.ratio, 1);
    EXPECT_EQ(busy.interval.high, 1);
}

TEST(ClockLedger, WithoutAClockThereIsNone) { EXPECT_EQ(clock_ledger(CpuSlice{}), ClockLedger{}); }

TEST(ClockLedger, TermsOfSamplesAndRecords) {
    CpuSlice cpu = cpu_of(495, 100, 300, 40);
    cpu.mode_time[index_of(Mode::kSoftirq)] = 20 * kPeriod;
    cpu.irq_in_idle = 5 * kPeriod;
    cpu.throttled = Nanoseconds(123);
    const ClockLedger ledger = clock_ledger(cpu);
    const std::int64_t p = kPeriod.count();
    EXPECT_EQ(ledger.total, cpu.enabled.count());
    EXPECT_EQ(ledger.busy, 115 * p);
    EXPECT_EQ(ledger.irq_in_idle, 5 * p);
    EXPECT_EQ(ledger.idle, 300 * p);
    EXPECT_EQ(ledger.lost, 40 * p);
    EXPECT_EQ(ledger.throttled, 123);
    EXPECT_EQ(ledger.idle_unsampled, 0);
    EXPECT_EQ(ledger.stolen, 0);
    EXPECT_EQ(ledger.unexplained, ledger.total - 460 * p - 123);
}

TEST(ClockLedger, TheRestIsSplitByProcStat) {
    struct Case {
        const char* what;
        std::int64_t rest;   // T − samples
        std::uint64_t idle;  // Δ idle
        std::uint64_t iowait;
        std::uint64_t steal;
        std::int64_t idle_unsampled, stolen, unexplained;
    };
    constexpr std::int64_t kSampledIdle = 50'000'000;
    const Case cases[] = {
        {"no idle beyond the samples'", 1000, 40'000'000, 0, 0, 0, 0, 1000},
        {"idle fills it", 1000, 50'000'700, 300, 0, 1000, 0, 0},
        {"idle fills more than it", 1000, 90'000'000, 0, 500, 1000, 0, 0},
        {"idle, then steal", 1000, 50'000'100, 0, 400, 100, 400, 500},
        {"steal fills it", 1000, 0, 0, 5000, 0, 1000, 0},
        {"more samples than time", -1000, 90'000'000, 0, 500, 0, 0, -1000},
    };
    for (const auto& c : cases) {
        CpuSlice cpu;
        cpu.clock_recorded = true;
        cpu.mode_time[index_of(Mode::kIdle)] = Nanoseconds(kSampledIdle);
        cpu.enabled = Nanoseconds(kSampledIdle + c.rest);
        cpu.times_known = true;
        cpu.times = {.idle = c.idle, .iowait = c.iowait, .steal = c.steal};
        const ClockLedger ledger = clock_ledger(cpu);
        EXPECT_EQ(ledger.idle_unsampled, c.idle_unsampled) << c.what;
        EXPECT_EQ(ledger.stolen, c.stolen) << c.what;
        EXPECT_EQ(ledger.unexplained, c.unexplained) << c.what;
        cpu.times_known = false;
        EXPECT_EQ(clock_ledger(cpu).unexplained, c.rest) << c.what;
    }
}

TEST(CyclesLedger, SignedRest) {
    CpuSlice cpu;
    cpu.cycles_counted = 1000;
    cpu.cycles_sampled = 1200;
    cpu.cycles_idle = 300;
    cpu.cycles_scaled = true;
    const CyclesLedger ledger = cycles_ledger(cpu);
    EXPECT_EQ(ledger.counted, 1000U);
    EXPECT_EQ(ledger.sampled, 1200U);
    EXPECT_EQ(ledger.in_idle, 300U);
    EXPECT_EQ(ledger.unattributed, -200);
    EXPECT_TRUE(ledger.scaled);
}

TEST(EffectiveHertz, AbsentWhileTooLittleRan) {
    CpuSlice cpu = cpu_of(990, 495, 495);
    cpu.cycles_counted = 3'000'000'000;
    EXPECT_EQ(effective_hertz(cpu), 0);  // no cycles recorded
    cpu.cycles_recorded = true;
    EXPECT_NEAR(effective_hertz(cpu), 3e9 / (0.5 * to_seconds(cpu.enabled)), 1);
    cpu.cycles_sampled = 2'900'000'000;
    cpu.cycles_idle = 290'000'000;
    EXPECT_DOUBLE_EQ(cycles_idle_share(cpu), 0.1);
    EXPECT_NEAR(effective_hertz(cpu), 0.9 * 3e9 / (0.5 * to_seconds(cpu.enabled)), 1) << "a tenth was idle's";
    CpuSlice idle = cpu_of(990, 30, 960);
    idle.cycles_recorded = true;
    idle.cycles_counted = 1'000'000;
    EXPECT_EQ(effective_hertz(idle), 0);
}

TEST(Accumulate, SumsEveryNumber) {
    CpuSlice a = cpu_of(495, 100, 300, 4);
    a.cpu = CpuId{3};
    a.times_known = true;
    a.times = {.cpu = CpuId{3}, .user = 1, .system = 2, .idle = 3, .iowait = 4, .irq = 5, .softirq = 6, .steal = 7};
    a.irq_in_idle = Nanoseconds(5);
    a.throttled = Nanoseconds(6);
    a.cycles_recorded = true;
    a.cycles_counted = 10;
    a.cycles_sampled = 11;
    a.cycles_samples = 12;
    a.cycles_idle = 5;
    a.cycles_lost = 13;
    CpuSlice sum;
    accumulate(sum, a);
    EXPECT_EQ(sum, a);
    accumulate(sum, a);
    EXPECT_EQ(sum.cpu, CpuId{3});
    EXPECT_EQ(sum.enabled, 2 * a.enabled);
    EXPECT_DOUBLE_EQ(sum.ticks_due, 990);
    EXPECT_EQ(sum.samples, 800U);
    EXPECT_EQ(sum.idle_samples, 600U);
    EXPECT_EQ(sum.mode_time[index_of(Mode::kUser)], 200 * kPeriod);
    EXPECT_EQ(sum.irq_in_idle, Nanoseconds(10));
    EXPECT_EQ(sum.lost, 8U);
    EXPECT_EQ(sum.lost_time, 8 * kPeriod);
    EXPECT_EQ(sum.throttled, Nanoseconds(12));
    EXPECT_EQ(sum.cycles_counted, 20U);
    EXPECT_EQ(sum.cycles_sampled, 22U);
    EXPECT_EQ(sum.cycles_samples, 24U);
    EXPECT_EQ(sum.cycles_idle, 10U);
    EXPECT_EQ(sum.cycles_lost, 26U);
    EXPECT_EQ(sum.times.user + sum.times.system + sum.times.idle + sum.times.iowait + sum.times.irq +
                  sum.times.softirq + sum.times.steal,
              2U * (1 + 2 + 3 + 4 + 5 + 6 + 7));
    EXPECT_TRUE(sum.times_known);
}

TEST(Accumulate, ProcStatIsKnownWhileEveryPartKnowsIt) {
    CpuSlice known = cpu_of(10, 5, 5);
    known.times_known = true;
    const CpuSlice unknown = cpu_of(10, 5, 5);
    CpuSlice sum;
    accumulate(sum, known);
    EXPECT_TRUE(sum.times_known);
    accumulate(sum, unknown);
    EXPECT_FALSE(sum.times_known);
    accumulate(sum, known);
    EXPECT_FALSE(sum.times_known);
}

}  // namespace
}  // namespace perfvigil::analyzer
