// SPDX-License-Identifier: GPL-2.0-or-later
// Ledgers of slices in which the recording itself changes: events that begin late, CPUs that go and come back, rates
// that change at a cut or between two, all of it under loss, throttling, steal and with samples that vanish. Every term
// against the truth.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "analyzer/ledger.hpp"
#include "analyzer/ledger_sum.hpp"
#include "tests/support/ledger_truth.hpp"

namespace perfvigil::test {
namespace {

using analyzer::CpuSlice;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Case {
    const char* name;
    std::vector<SyntheticCpu> cpus;
    std::map<Nanoseconds, std::uint64_t> retunes{};
    bool lost_counts = true;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

std::pair<Nanoseconds, Nanoseconds> away(int from, int to) { return {milliseconds(from), milliseconds(to)}; }

class LedgerChanges : public testing::TestWithParam<Case> {};

TEST_P(LedgerChanges, EveryTermIsWhatHappened) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SyntheticOptions options;
        options.cpus = GetParam().cpus;
        options.retunes = GetParam().retunes;
        options.lost_counts = GetParam().lost_counts;
        options.seed = seed;
        const LedgerRecording recording(options);
        recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t slice) {
            SCOPED_TRACE("seed " + std::to_string(seed) + " slice " + std::to_string(slice) + " cpu " +
                         std::to_string(cpu.cpu.value));
            expect_true(cpu, truth, options);
        });
    }
}

const SyntheticCpu kHalf{.busy = 0.5};
const SyntheticCpu kLossy{.busy = 0.7, .lost = 0.3};

INSTANTIATE_TEST_SUITE_P(
    Recordings, LedgerChanges,
    testing::Values(
        Case{"events begin late",
             {kHalf, {.busy = 1, .starts = milliseconds(3700)}, {.busy = 0, .starts = seconds(6)}}},
        Case{"events begin late where idle is not sampled",
             {kHalf,
              {.busy = 0, .samples_idle = false, .starts = milliseconds(3000)},
              {.busy = 0.3, .samples_idle = false, .starts = milliseconds(7200)}}},
        Case{"events begin late under loss and steal",
             {kLossy, {.busy = 0.8, .steal = 0.3, .lost = 0.2, .removed = 0.1, .starts = milliseconds(2500)}}},
        Case{"a CPU is noticed a second after it came back",
             {kHalf, {.busy = 1, .lost = 0.1, .offline = away(6000, 7000), .noticed = milliseconds(900)}}},
        Case{"idle CPU away within a slice",
             {kHalf, {.busy = 0.2, .samples_idle = false, .offline = away(6000, 8000), .noticed = milliseconds(700)}}},
        Case{"another rate within a slice", {kHalf, kLossy}, {{milliseconds(7300), 500}}},
        Case{"three rates in one slice",
             {kHalf, {.busy = 1, .lost = 0.2, .removed = 0.2}},
             {{milliseconds(5100), 500}, {milliseconds(6000), 250}, {milliseconds(9900), 997}}},
        Case{"rates at a cut and behind it", {kHalf, kLossy}, {{seconds(5), 500}, {milliseconds(5500), 49}}},
        Case{"another rate while throttled",
             {{.busy = 1, .throttled = 0.4}, {.busy = 0.5, .lost = 0.2, .throttled = 0.3}},
             {{milliseconds(7000), 500}, {seconds(15), 99}}},
        Case{"another rate while cycles are throttled",
             {{.busy = 1, .cycles_throttled = 0.4}, {.busy = 0.5, .lost = 0.2, .cycles_throttled = 0.6}},
             {{milliseconds(7000), 500}, {seconds(15), 99}}},
        Case{"a CPU with throttled cycles goes",
             {kHalf, {.busy = 1, .cycles_throttled = 0.5, .offline = away(7000, 11000), .noticed = milliseconds(300)}}},
        Case{"a throttled CPU goes",
             {kHalf, {.busy = 1, .throttled = 0.4, .offline = away(7000, 11000), .noticed = milliseconds(300)}}},
        Case{"a CPU returns in another generation",
             {kHalf, {.busy = 1, .lost = 0.1, .offline = away(3000, 12500)}},
             {{seconds(5), 500}, {milliseconds(11000), 199}}},
        Case{"a CPU goes and returns after a change",
             {kHalf, {.busy = 0.9, .offline = away(8000, 9000)}},
             {{seconds(5), 500}}},
        Case{"losses that only the ring tells", {kHalf, {.busy = 1, .lost = 0.3}}, {{milliseconds(7300), 500}}, false},
        Case{"everything at once",
             {{.busy = 0.6, .steal = 0.1, .lost = 0.2, .removed = 0.1, .throttled = 0.2},
              {.busy = 0.9,
               .lost = 0.4,
               .throttled = 0.3,
               .offline = away(6500, 8000),
               .starts = milliseconds(1200),
               .noticed = milliseconds(500)},
              {.busy = 0.1, .samples_idle = false, .starts = milliseconds(4100)}},
             {{milliseconds(7100), 500}, {seconds(10), 199}, {milliseconds(14000), 99}}}),
    [](const auto& given) {
        std::string name = given.param.name;
        std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
        return name;
    });

SyntheticCpu random_cpu(std::mt19937_64& random, Nanoseconds whole) {
    const auto share = [&](double most) { return std::uniform_real_distribution<double>(0, most)(random); };
    const auto one_in = [&](unsigned n) { return random() % n == 0; };
    const auto moment = [&] {
        return Nanoseconds(static_cast<std::int64_t>(share(1) * static_cast<double>(whole.count())));
    };
    SyntheticCpu cpu{.busy = share(1.1), .samples_idle = !one_in(2)};
    if (one_in(3)) cpu.steal = share(0.4);
    if (one_in(2)) cpu.lost = share(0.9);
    if (one_in(3)) cpu.removed = share(0.9);
    if (one_in(4)) cpu.throttled = share(0.6);
    if (one_in(4)) cpu.cycles_throttled = share(0.7);
    if (one_in(3)) cpu.starts = moment();
    if (one_in(3)) {
        const Nanoseconds leaves = moment();
        cpu.offline = {leaves, leaves + moment() / 3};
        cpu.noticed = milliseconds(random() % 1000);
    }
    return cpu;
}

// Whatever changes whenever: no term is off, and no weight goes to a slice in which it was not.
TEST(LedgerChanges, RandomRecordings) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 40; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        SyntheticOptions options;
        options.seed = random();
        options.hertz = 49 + random() % 500;
        options.slices = 2 + random() % 4;
        options.slice = milliseconds(2000 + random() % 4000);
        options.lost_counts = random() % 4 != 0;
        options.cycles_running = random() % 4 == 0 ? 0.4 : 1;
        const Nanoseconds whole = options.slice * static_cast<std::int64_t>(options.slices);
        for (std::size_t i = random() % 4; i > 0; --i) {
            const bool at_cut = random() % 3 == 0;
            const auto when =
                at_cut ? options.slice * static_cast<std::int64_t>(1 + random() % options.slices)
                       : Nanoseconds(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(whole.count())));
            options.retunes[when] = 49 + random() % 900;
        }
        options.cpus.clear();
        for (std::size_t i = 0; i < 1 + random() % 5; ++i) options.cpus.push_back(random_cpu(random, whole));
        options.cpus.push_back(kHalf);
        const LedgerRecording recording(options);
        recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t slice) {
            SCOPED_TRACE("slice " + std::to_string(slice) + " cpu " + std::to_string(cpu.cpu.value));
            expect_true(cpu, truth, options);
        });
        for (const auto& slice : recording.slices) {
            std::uint64_t in_entries = 0;
            std::uint64_t in_totals = 0;
            for (const auto& entry : slice->entries) in_entries += entry.weight;
            for (const auto& total : slice->totals) in_totals += total.weight;
            EXPECT_EQ(in_entries, in_totals);
        }
    }
}

// What is said of a CPU stays right through every change: busy inside its interval, its frequency that of the counter.
TEST(LedgerChanges, BusyAndFrequencyHoldTheTruth) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SyntheticOptions options;
        options.seed = seed;
        options.cpus = {{.busy = 0.6, .irq_in_idle = 0, .lost = 0.1},
                        {.busy = 1, .lost = 0.3, .offline = away(6500, 8000), .noticed = milliseconds(400)},
                        {.busy = 0.3, .irq_in_idle = 0, .samples_idle = false, .starts = milliseconds(2200)}};
        options.retunes = {{milliseconds(3300), 500}, {seconds(10), 199}, {milliseconds(13100), 997}};
        const LedgerRecording recording(options);
        std::map<std::uint32_t, std::pair<CpuSlice, Nanoseconds>> sums;
        recording.each([&](const CpuSlice& cpu, const SyntheticTruth& truth, std::size_t) {
            auto& [sum, task] = sums[cpu.cpu.value];
            analyzer::accumulate(sum, cpu);
            task += truth.task;
        });
        ASSERT_EQ(sums.size(), 3U);
        for (const auto& [number, sum] : sums) {
            const auto& [cpu, task] = sum;
            const double truth = std::min(1.0, to_seconds(task) / to_seconds(cpu.enabled));
            const auto busy = analyzer::busy_of(cpu, analyzer::kZ999);
            EXPECT_LE(busy.interval.low, truth) << "cpu " << number << " seed " << seed;
            // Ticks are whole, those due are not: of a full CPU one may be outstanding.
            EXPECT_GE(busy.interval.high + 1e-4, truth) << "cpu " << number << " seed " << seed;
            // Where as much is lost as on the first two nobody knows.
            if (number == 2) {
                EXPECT_NEAR(analyzer::effective_hertz(cpu), 3e9, 3e8) << "seed " << seed;
            } else {
                EXPECT_EQ(analyzer::effective_hertz(cpu), 0) << "cpu " << number << " seed " << seed;
            }
        }
    }
}

}  // namespace
}  // namespace perfvigil::test
