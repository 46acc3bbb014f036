// SPDX-License-Identifier: GPL-2.0-or-later
// Shares of two hot functions against what the program itself measured, through each way of recording. The program's
// phases are far below a sampling period and drawn at random, so a share of n samples is binomial.
#include <gtest/gtest.h>

#include <cmath>

#include "analyzer/ledger.hpp"
#include "collector/blocked_child.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::Client;
using test::ReportView;

constexpr int kSeconds = 10;

// The share that the program measured lies in the 99.9 % interval of the sampled one.
void expect_shares(const ReportView& report, const std::string& own_output) {
    const auto own = Client::numbers(own_output);
    ASSERT_EQ(own.size(), 2U) << own_output;
    const auto a = static_cast<double>(report.function("cpu-clock", "hot_a", "self_samples"));
    const auto b = static_cast<double>(report.function("cpu-clock", "hot_b", "self_samples"));
    // At least half of the samples that a CPU of its own would have given: other load may share the machine.
    ASSERT_GT(a + b, 99 * kSeconds / 2);
    const auto interval = analyzer::wilson(a, a + b, analyzer::kZ999);
    const double truth = own[0] / (own[0] + own[1]);
    EXPECT_GE(truth, interval.low) << a << " of " << a + b;
    EXPECT_LE(truth, interval.high) << a << " of " << a + b;
}

TEST(Shares, OfARunningProcess) {
    const test::TempFolder folder;
    Client load("split70_30", {"60"});
    (void)test::output_of(test::kPerfvigil, {"record", "-o", folder / "p.perf.data", "-p", std::to_string(load.pid()),
                                             "-d", std::to_string(kSeconds) + "s"});
    const auto report = ReportView::of_perfvigil({"report", "--json", folder / "p.perf.data"});
    expect_shares(report, load.stop());
    EXPECT_EQ(report.event("cpu-clock").at("lost").to_number<int>(), 0);
}

TEST(Shares, OfACommandAndItsExitCode) {
    const test::TempFolder folder;
    const auto output = test::output_of(test::kPerfvigil, {"record", "-o", folder / "c.perf.data", "--",
                                                           test::client_path("split70_30"), std::to_string(kSeconds)});
    // The command's own line comes first; the recorder's summary after it.
    expect_shares(ReportView::of_perfvigil({"report", "--json", folder / "c.perf.data"}),
                  output.substr(0, output.find('\n')));

    Client failing(test::kPerfvigil, {"record", "-o", folder / "f.perf.data", "--", "sh", "-c", "exit 7"});
    (void)failing.output();
    EXPECT_EQ(collector::exit_code_of(failing.exit_status()), 7);
}

TEST(Shares, OfTheWholeHost) {
    const test::TempFolder folder;
    Client load("split70_30", {"60"});
    (void)test::output_of(test::kPerfvigil,
                          {"record", "-o", folder / "a.perf.data", "-a", "-d", std::to_string(kSeconds) + "s"});
    const auto report = ReportView::of_perfvigil({"report", "--json", folder / "a.perf.data"});
    expect_shares(report, load.stop());
}

TEST(Shares, OfADaemonsWindow) {
    if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    test::TempFolder folder;
    test::DaemonProcess daemon(folder);
    daemon.start({.window = std::to_string(kSeconds) + "s"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    Client load("split70_30", {"120"});
    // The first window began before the load did, the second is all of it.
    const auto begun = daemon.stored_windows().size();
    ASSERT_TRUE(daemon.wait_windows(begun + 2)) << daemon.log();
    const auto reply = daemon.get("/v1/windows/latest/report?format=json");
    ASSERT_EQ(reply.status, 200U) << reply.body;
    expect_shares(ReportView(reply.body), load.stop());
}

}  // namespace
}  // namespace perfvigil
