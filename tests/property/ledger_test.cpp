// SPDX-License-Identifier: GPL-2.0-or-later
// Every term of the clock ledger against the truth of synthetic recordings. The truth knows what became of each tick,
// so terms of ticks are compared exactly; terms that come from /proc/stat within its grain.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "analyzer/ledger.hpp"
#include "analyzer/ledger_sum.hpp"
#include "tests/support/ledger_truth.hpp"

namespace perfvigil::test {
namespace {

using analyzer::clock_ledger;
using analyzer::ClockLedger;
using analyzer::CpuSlice;
using analyzer::LedgerSum;

using Recording = LedgerRecording;

struct Case {
    const char* name;
    SyntheticOptions options;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

SyntheticOptions with(std::vector<SyntheticCpu> cpus, void (*change)(SyntheticOptions&) = nullptr) {
    SyntheticOptions options;
    options.cpus = std::move(cpus);
    if (change != nullptr) change(options);
    return options;
}

class LedgerTruth : public testing::TestWithParam<Case> {};

TEST_P(LedgerTruth, EveryTermIsWhatHappened) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SyntheticOptions options = GetParam().options;
        options.seed = seed;
        const Recording recording(options);
        recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t slice) {
            SCOPED_TRACE("slice " + std::to_string(slice) + " cpu " + std::to_string(cpu.cpu.value));
            expect_true(cpu, truth, options);
        });
    }
}

const SyntheticCpu kHalf{.busy = 0.5};
const SyntheticCpu kFull{.busy = 1};
const SyntheticCpu kIdle{.busy = 0};

INSTANTIATE_TEST_SUITE_P(
    Recordings, LedgerTruth,
    testing::Values(
        Case{"plain", with({kIdle, {.busy = 0.1}, kHalf, kFull})},
        Case{"faster", with({kHalf, kFull}, [](auto& o) { o.hertz = 999; })},
        Case{"idle is not sampled", with({{.busy = 0, .samples_idle = false}, {.busy = 0.3, .samples_idle = false}})},
        Case{"steal", with({{.busy = 0.5, .steal = 0.3}, {.busy = 1, .steal = 0.5}})},
        Case{"loss", with({{.busy = 0.5, .lost = 0.2}, {.busy = 1, .lost = 0.9}})},
        Case{"loss at the start", with({{.busy = 1, .lost = 1, .lost_time_share = 0.4}})},
        Case{"removed", with({{.busy = 1, .removed = 0.3}, kHalf})},
        Case{"throttled", with({{.busy = 1, .throttled = 0.25}, {.busy = 0.4, .throttled = 0.5}})},
        Case{"cycles throttled", with({{.busy = 1, .cycles_throttled = 0.25},
                                       {.busy = 0.4, .cycles_throttled = 0.5, .busy_when_throttled = 1},
                                       {.busy = 0.7, .throttled = 0.4, .cycles_throttled = 0.3}})},
        Case{"all at once", with({{.busy = 1, .steal = 0.1, .lost = 0.1, .removed = 0.2, .throttled = 0.1}})},
        Case{"a CPU goes and comes back",
             with({kFull, {.busy = 1, .offline = {{std::chrono::seconds(7), std::chrono::seconds(13)}}}})},
        Case{"a CPU goes and comes back within a slice",
             with({kFull, {.busy = 1, .offline = {{std::chrono::seconds(6), std::chrono::seconds(8)}}}})},
        Case{"another rate", with({kHalf, kFull}, [](auto& o) { o.retunes = {{std::chrono::seconds(10), 500}}; })},
        Case{"the wall clock steps", with({kHalf, {.busy = 1, .lost = 0.1}},
                                          [](auto& o) { o.stepped = {{1, std::chrono::milliseconds(1200)}}; })},
        Case{"suspended twice",
             with({kHalf, kIdle},
                  [](auto& o) { o.stepped = {{0, std::chrono::milliseconds(300)}, {2, std::chrono::seconds(4)}}; })},
        Case{"late records", with({kHalf, kFull}, [](auto& o) { o.late_per_slice = 5; })}),
    [](const auto& given) {
        std::string name = given.param.name;
        std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
        return name;
    });

// --- what the terms are worth

// On a CPU without idle or steal nothing blurs what vanished: it is unexplained to the tick, there and nowhere else.
TEST(LedgerTruth, SamplesRemovedAreUnexplainedOnThatCpu) {
    for (const double removed : {0.01, 0.1, 0.5, 1.0}) {
        const Recording recording(with({{.busy = 1, .removed = removed}, kFull}));
        recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
            const auto p = static_cast<double>(1'000'000'000 / 99);
            const auto vanished = static_cast<double>(cpu.cpu.value == 0 ? truth.removed : 0) * p;
            EXPECT_NEAR(static_cast<double>(clock_ledger(cpu).unexplained), vanished, 2 * p);
        });
    }
}

// |unexplained| within 1 % of T + 2 p over a whole recording, at each load.
TEST(LedgerTruth, NothingIsUnexplainedWhereNothingVanished) {
    const Recording recording(
        with({kIdle, {.busy = 0.1}, kHalf, kFull, {.busy = 0, .samples_idle = false}}, [](auto& o) { o.slices = 12; }));
    std::map<std::uint32_t, LedgerSum> sums;
    recording.each([&](const CpuSlice& cpu, const SyntheticTruth&, std::size_t) { sums[cpu.cpu.value].add(cpu); });
    ASSERT_EQ(sums.size(), 5U);
    for (const auto& [cpu, of_cpu] : sums) {
        const ClockLedger sum = of_cpu.ledger();
        EXPECT_LE(std::abs(static_cast<double>(sum.unexplained)), 0.01 * static_cast<double>(sum.total) + 2 * 1e9 / 99)
            << "cpu " << cpu;
    }
}

// Where idle time is the kernel's and busy is sampled, a slice's rest is busy's sampling error. It evens out over
// slices; slice by slice it would not, for the half that is below zero is cut off.
TEST(LedgerTruth, WhatEvensOutOverSlicesIsNotUnexplained) {
    double summed = 0;
    double slice_by_slice = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto options = with({{.busy = 0.1, .irq_in_idle = 0, .samples_idle = false}}, [](auto& o) { o.slices = 48; });
        options.seed = seed;
        LedgerSum sum;
        ClockLedger added;
        Recording(options).each([&](const CpuSlice& cpu, const SyntheticTruth&, std::size_t) {
            sum.add(cpu);
            added += clock_ledger(cpu);
        });
        const ClockLedger ledger = sum.ledger();
        EXPECT_EQ(ledger.total, added.total);
        EXPECT_EQ(ledger.total, ledger.busy + ledger.idle + ledger.irq_in_idle + ledger.lost + ledger.throttled +
                                    ledger.idle_unsampled + ledger.stolen + ledger.unexplained);
        summed += std::abs(static_cast<double>(ledger.unexplained)) / static_cast<double>(ledger.total) / 20;
        slice_by_slice += std::abs(static_cast<double>(added.unexplained)) / static_cast<double>(added.total) / 20;
    }
    // 23 760 ticks at 10 %: half of the time nothing, else |N(0, 46 ticks)|, on average 0.08 % of the time.
    EXPECT_LT(summed, 0.002);
    EXPECT_GT(slice_by_slice, 0.003);
}

// A recording whose /proc/stat was not read all the time: what is known of it still counts.
TEST(LedgerTruth, SlicesWithoutProcStatKeepTheirRestUnexplained) {
    CpuSlice known;
    known.clock_recorded = true;
    known.enabled = std::chrono::seconds(5);
    known.times_known = true;
    known.times.idle = 5'000'000'000;
    CpuSlice unknown = known;
    unknown.times_known = false;
    unknown.times = {};
    LedgerSum sum;
    for (const auto* cpu : {&known, &unknown, &known}) sum.add(*cpu);
    EXPECT_EQ(sum.ledger().idle_unsampled, 10'000'000'000);
    EXPECT_EQ(sum.ledger().unexplained, 5'000'000'000);
    EXPECT_EQ(sum.ledger().total, 15'000'000'000);
}

// A CPU that writes no sample while it idles: busy inside its interval, and coverage says what is missing.
TEST(LedgerTruth, BusyOfACpuThatWritesNoIdleSamples) {
    for (const bool samples_idle : {false, true}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            SyntheticOptions options;
            options.seed = seed;
            options.cpus.clear();
            for (const double load : {0.0, 0.1, 0.5, 1.0}) {
                options.cpus.push_back({.busy = load, .irq_in_idle = 0, .samples_idle = samples_idle});
            }
            const Recording recording(options);
            std::map<std::uint32_t, std::pair<CpuSlice, Nanoseconds>> sums;
            recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
                auto& [sum, task] = sums[cpu.cpu.value];
                analyzer::accumulate(sum, cpu);
                task += truth.task;
            });
            for (const auto& [number, sum] : sums) {
                const auto& [cpu, task] = sum;
                const double truth = std::min(1.0, to_seconds(task) / to_seconds(cpu.enabled));
                const auto busy = analyzer::busy_of(cpu, analyzer::kZ999);
                ASSERT_TRUE(busy.known);
                EXPECT_LE(busy.interval.low, truth) << "cpu " << number << " seed " << seed;
                EXPECT_GE(busy.interval.high, truth) << "cpu " << number << " seed " << seed;
                EXPECT_NEAR(busy.coverage, samples_idle ? 1 : busy.ratio, 0.01);
            }
        }
    }
}

// Loss makes busy wide, not wrong, wherever in the slice it strikes.
TEST(LedgerTruth, BusyUnderLossHoldsTheTruth) {
    for (const double lost : {0.01, 0.3, 0.95, 1.0}) {
        for (const double where : {0.3, 1.0}) {
            SyntheticOptions options;
            options.cpus.clear();
            for (const double load : {0.0, 0.1, 0.5, 1.0}) {
                options.cpus.push_back({.busy = load, .irq_in_idle = 0, .lost = lost, .lost_time_share = where});
            }
            const Recording recording(options);
            recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
                // Tasks are timed between cuts, T between readings a moment later.
                const double share = std::min(1.0, to_seconds(truth.task) / to_seconds(truth.enabled));
                const auto busy = analyzer::busy_of(cpu, analyzer::kZ999);
                EXPECT_LE(busy.interval.low, share);
                EXPECT_GE(busy.interval.high + 1e-6, share);
                EXPECT_GE(busy.ratio, busy.interval.low);
                EXPECT_LE(busy.ratio, busy.interval.high);
            });
        }
    }
}

// A throttled clock says nothing of what ran: the same.
TEST(LedgerTruth, BusyUnderThrottlingHoldsTheTruth) {
    for (const double throttled : {0.01, 0.25, 0.6}) {
        SyntheticOptions options;
        options.cpus.clear();
        for (const double load : {0.0, 0.1, 0.5, 1.0}) {
            options.cpus.push_back({.busy = load, .irq_in_idle = 0, .throttled = throttled});
        }
        const Recording recording(options);
        std::map<std::uint32_t, CpuSlice> sums;
        recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
            const double share = std::min(1.0, to_seconds(truth.task) / to_seconds(truth.enabled));
            const auto busy = analyzer::busy_of(cpu, analyzer::kZ999);
            EXPECT_LE(busy.interval.low, share);
            EXPECT_GE(busy.interval.high + 1e-6, share);
            EXPECT_GE(busy.ratio, busy.interval.low);
            EXPECT_LE(busy.ratio, busy.interval.high);
            analyzer::accumulate(sums[cpu.cpu.value], cpu);
        });
        // The load is even, so what was throttled was like the rest.
        for (const auto& [number, sum] : sums) {
            EXPECT_NEAR(analyzer::busy_of(sum).ratio, options.cpus[number].busy, 0.05) << throttled;
        }
    }
}

// Kernels before 6.0 count no losses per event: LOST records must do, and no more than the ticks that are missing are
// taken for the clock's.
TEST(LedgerTruth, LossOfAKernelThatDoesNotCountItPerEvent) {
    const Recording recording(with({{.busy = 1, .lost = 0.2}}, [](auto& o) { o.lost_counts = false; }));
    std::uint64_t lost = 0;
    std::uint64_t said = 0;
    recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t slice) {
        EXPECT_LE(cpu.samples + cpu.lost, static_cast<std::uint64_t>(cpu.ticks_due) + 1);
        lost += truth.lost;
        said += cpu.lost;
        EXPECT_TRUE(recording.slices[slice]->totals[1].lost_is_shared);
    });
    EXPECT_NEAR(static_cast<double>(said), static_cast<double>(lost), 4);  // one per slice may still be unsaid
    EXPECT_GT(said, 300U);
}

// A capture of others: no counters, so time is estimated, and said to be. CPUs that idle unsampled are not taken for
// busy ones.
TEST(LedgerTruth, ForeignCaptureWithoutReadings) {
    const Recording recording(with({kHalf, {.busy = 0.2, .samples_idle = false}}, [](auto& o) { o.readings = false; }));
    recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
        EXPECT_TRUE(cpu.clock_recorded);
        EXPECT_TRUE(cpu.time_estimated);
        EXPECT_FALSE(cpu.times_known);
        EXPECT_NEAR(to_seconds(cpu.enabled), to_seconds(truth.enabled), 0.05);
        const double share = to_seconds(truth.task + truth.irq_in_idle) / to_seconds(truth.enabled);
        const auto busy = analyzer::busy_of(cpu, analyzer::kZ999);
        EXPECT_LE(busy.interval.low, share);
        EXPECT_GE(busy.interval.high, share);
    });
}

// Cycles: what was counted, what the samples hold, and the frequency that follows from busy.
TEST(LedgerTruth, CyclesAndEffectiveFrequency) {
    const Recording recording(with({kHalf, kFull, kIdle}));
    recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
        const auto ledger = analyzer::cycles_ledger(cpu);
        EXPECT_EQ(ledger.counted, truth.cycles);
        EXPECT_EQ(ledger.sampled, truth.cycles_sampled);
        EXPECT_EQ(ledger.unattributed, static_cast<std::int64_t>(truth.cycles - truth.cycles_sampled));
        EXPECT_FALSE(ledger.scaled);
        const double hertz = analyzer::effective_hertz(cpu);
        if (cpu.cpu.value == 2) {
            EXPECT_EQ(hertz, 0);
        } else if (cpu.cpu.value == 1) {
            EXPECT_NEAR(hertz, 3e9, 3e7);
        }
    });
}

// A counter that others use half of the time: its reading is scaled, and said to be.
TEST(LedgerTruth, CyclesOfAMultiplexedCounter) {
    for (const double share : {0.5, 0.1}) {
        SyntheticOptions options = with({kHalf, kFull});
        options.cycles_running = share;
        Recording(options).each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
            const auto ledger = analyzer::cycles_ledger(cpu);
            EXPECT_TRUE(ledger.scaled);
            EXPECT_NEAR(static_cast<double>(ledger.counted), static_cast<double>(truth.cycles),
                        1e-5 * static_cast<double>(truth.cycles) + 100);
            if (cpu.cpu.value == 0) return;
            EXPECT_NEAR(analyzer::effective_hertz(cpu), 3e9, 3e7);
        });
    }
}

// Slices that a step of the clock cut short keep their true length, and say so.
TEST(LedgerTruth, AStepOfTheClockIsMarkedOnItsSliceAlone) {
    const Recording recording(with({kHalf}, [](auto& o) { o.stepped = {{1, std::chrono::milliseconds(1200)}}; }));
    ASSERT_EQ(recording.slices.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto& slice = *recording.slices[i];
        EXPECT_EQ(slice.clock_stepped, i == 1) << i;
        EXPECT_EQ(slice.end - slice.start,
                  i == 1 ? Nanoseconds(std::chrono::milliseconds(1200)) : std::chrono::seconds(5));
    }
    EXPECT_GT(recording.slices[1]->wall_end - recording.slices[0]->wall_end, std::chrono::hours(2));
}

// Whatever the CPUs do, what slices count is what was delivered, and each term has its bounds.
TEST(LedgerTruth, RandomRecordings) {
    std::mt19937_64 random(7);
    const auto share = [&](double most) { return std::uniform_real_distribution<double>(0, most)(random); };
    for (int round = 0; round < 30; ++round) {
        SyntheticOptions options;
        options.seed = random();
        options.hertz = 20 + random() % 500;
        options.slices = 1 + random() % 5;
        options.slice = std::chrono::milliseconds(500 + random() % 3000);
        options.late_per_slice = random() % 4;
        options.cycles = random() % 2 == 0;
        options.lost_counts = random() % 4 != 0;
        options.proc_stat = random() % 3 != 0;
        options.cpus.clear();
        for (std::size_t i = 0; i < 1 + random() % 6; ++i) {
            SyntheticCpu cpu{.busy = share(1.2), .samples_idle = random() % 2 == 0, .steal = share(0.4)};
            cpu.lost = random() % 2 == 0 ? share(1) : 0;
            cpu.removed = random() % 2 == 0 ? share(1) : 0;
            cpu.throttled = random() % 4 == 0 ? share(0.6) : 0;
            cpu.cycles_throttled = random() % 4 == 0 ? share(0.7) : 0;
            options.cpus.push_back(cpu);
        }
        const Recording recording(options);
        recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t slice) {
            SCOPED_TRACE("round " + std::to_string(round) + " slice " + std::to_string(slice));
            EXPECT_EQ(cpu.samples, truth.samples);
            EXPECT_EQ(cpu.enabled, truth.enabled);
            const ClockLedger ledger = clock_ledger(cpu);
            EXPECT_EQ(ledger.total, ledger.busy + ledger.idle + ledger.irq_in_idle + ledger.lost + ledger.throttled +
                                        ledger.idle_unsampled + ledger.stolen + ledger.unexplained);
            for (const auto term : {ledger.busy, ledger.idle, ledger.irq_in_idle, ledger.lost, ledger.throttled,
                                    ledger.idle_unsampled, ledger.stolen}) {
                EXPECT_GE(term, 0);
            }
            const auto busy = analyzer::busy_of(cpu);
            EXPECT_GE(busy.ratio, 0);
            EXPECT_LE(busy.ratio, 1);
            EXPECT_LE(busy.interval.low, busy.interval.high);
        });
        for (const auto& slice : recording.slices) {
            std::uint64_t in_entries = 0;
            std::uint64_t in_totals = 0;
            for (const auto& entry : slice->entries) in_entries += entry.samples;
            for (const auto& total : slice->totals) in_totals += total.samples;
            EXPECT_EQ(in_entries, in_totals);
        }
    }
}

}  // namespace
}  // namespace perfvigil::test
