// SPDX-License-Identifier: GPL-2.0-or-later
// Busy of each CPU against the CPU time that a load pinned to it measured of itself. Other work on that CPU is busy
// time too, so the truth is bracketed: the load's own time below, all that /proc/stat counts as not idle above.
#include <gtest/gtest.h>

#include <cmath>

#include "analyzer/ledger.hpp"
#include "collector/host_facts.hpp"
#include "tests/support/client.hpp"
#include "tests/support/length.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using test::Client;
using test::ReportView;

struct Load {
    unsigned cpu;
    int percent;
};
void PrintTo(const Load& load, std::ostream* out) { *out << "cpu " << load.cpu << " at " << load.percent << " %"; }

class Busy : public testing::TestWithParam<Load> {};

double used_seconds(const std::vector<collector::CpuTimes>& times, unsigned cpu) {
    for (const auto& row : times) {
        if (row.cpu.value != cpu) continue;
        return static_cast<double>(row.user + row.system + row.irq + row.softirq) / 1e9;
    }
    return 0;
}

TEST_P(Busy, LiesInItsInterval) {
    const auto [cpu, percent] = GetParam();
    constexpr int kSeconds = 10;
    if (cpu >= collector::online_cpus().value().size()) GTEST_SKIP() << "there is no CPU " << cpu;

    Client load("busy_load", {std::to_string(cpu), std::to_string(percent), "30"});
    const auto before = collector::read_cpu_times();
    const auto report = ReportView::of_perfvigil({"record", "--json", "-a", "-d", std::to_string(kSeconds) + "s"});
    const auto after = collector::read_cpu_times();
    const auto own = Client::numbers(load.stop());
    ASSERT_EQ(own.size(), 2U);

    const auto seen = report.cpu(cpu);
    const double k = static_cast<double>(seen.samples - seen.idle_samples);
    const auto interval = analyzer::wilson(k, seen.ticks_due, analyzer::kZ999);
    EXPECT_EQ(seen.lost, 0U);
    EXPECT_NEAR(seen.seconds, kSeconds, 0.5);

    const double own_share = own[0] / own[1];
    const double used_share = (used_seconds(after, cpu) - used_seconds(before, cpu)) / seen.seconds;
    EXPECT_GE(interval.high, own_share) << k << " of " << seen.ticks_due;
    // One jiffy of /proc/stat at either end.
    EXPECT_LE(interval.low, std::max(own_share, used_share) + 0.02 / kSeconds) << k << " of " << seen.ticks_due;
}

INSTANTIATE_TEST_SUITE_P(Loads, Busy,
                         testing::Values(Load{0, 0}, Load{0, 10}, Load{0, 50}, Load{0, 100}, Load{1, 0}, Load{1, 10},
                                         Load{1, 50}, Load{1, 100}));

// The ledger leaves next to nothing unexplained: 1 % of the time and two ticks. On a CPU that writes no idle samples
// the idle time is the kernel's exact one, while busy is sampled: what remains there holds busy's sampling error too.
void expect_explained(const ReportView& report, const std::string& load) {
    constexpr double kTick = 0.010101010;
    for (const unsigned cpu : report.cpus()) {
        const auto seen = report.cpu(cpu);
        const bool idle_unsampled = static_cast<double>(seen.samples) < 0.95 * seen.ticks_due;
        const double sampling_error =
            idle_unsampled ? 3.29 * std::sqrt(seen.ticks_due * seen.busy * (1 - seen.busy)) * kTick : 0;
        EXPECT_NEAR(report.ledger(cpu, "unexplained"), 0, 0.01 * seen.seconds + 2 * kTick + sampling_error)
            << "cpu " << cpu << ", " << load;
    }
}

TEST(ClockLedger, ExplainsTheTimeOfALoadedAndAnIdleCpu) {
    for (const int percent : {10, 50, 100}) {
        Client load("busy_load", {"0", std::to_string(percent), "30"});
        const auto report = ReportView::of_perfvigil({"record", "--json", "-a", "-d", "10s"});
        (void)load.stop();
        expect_explained(report, std::to_string(percent) + " %");
    }
}

void expect_explained_under(const std::vector<std::string>& kinds, const std::string& duration) {
    std::vector<std::string> arguments{"--quiet"};
    for (const auto& kind : kinds) arguments.insert(arguments.end(), {"--" + kind, "2"});
    Client storm("/usr/bin/stress-ng", arguments);
    const auto report = ReportView::of_perfvigil({"record", "--json", "-a", "-d", duration});
    (void)storm.stop();
    expect_explained(report, kinds.front());
    EXPECT_EQ(report.event("cpu-clock").at("lost").to_number<int>(), 0);
}

TEST(ClockLedger, ExplainsTheTimeUnderAStormOfForks) { expect_explained_under({"fork"}, "10s"); }
TEST(ClockLedger, ExplainsTheTimeUnderAStormOfPrograms) { expect_explained_under({"exec"}, "10s"); }
TEST(ClockLedger, ExplainsTheTimeUnderAStormOfMappings) { expect_explained_under({"mmap"}, "10s"); }
TEST(ClockLedger, ExplainsFiveMinutesOfAllStorms) {
    if (!test::long_run()) GTEST_SKIP() << "takes five minutes: ./dev test --long";
    expect_explained_under({"fork", "exec", "mmap"}, "300s");
}

}  // namespace
}  // namespace perfvigil
