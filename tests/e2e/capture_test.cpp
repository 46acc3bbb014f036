// SPDX-License-Identifier: GPL-2.0-or-later
// Captures on demand from the command line, through the daemon's socket: the numbers are right, the file is whole, and
// each way to end is one. Programs run under a shell where their standard error is looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "analyzer/ledger.hpp"
#include "base/text.hpp"
#include "collector/blocked_child.hpp"
#include "collector/cgroup_snapshot.hpp"
#include "collector/host_facts.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/exposition.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using test::Client;
using test::ReportView;
using testing::HasSubstr;

class CaptureTest : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    void start(const std::string& extra = "budget: {cpu: 100%, captures: 100%}\n") {
        daemon.start({.capturing = ", enabled: false", .extra = extra});
        ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    }
    // `perfvigil capture ARGUMENTS`: its standard output; what it says besides is in said().
    Client capture(const std::string& arguments) {
        return {"/bin/sh",
                {"-c", "exec " + std::string(test::kPerfvigil) + " capture --socket " + daemon.socket() + " " +
                           arguments + " 2>" + (folder / "said")}};
    }
    std::string said() { return test::slurp(folder / "said"); }
    static int exit_code(Client& client) { return collector::exit_code_of(client.exit_status()); }
    double captures(const std::string& result) {
        const auto parsed = test::parse_exposition(daemon.get("/metrics").body);
        return parsed ? parsed->sum("perfvigil_captures_total", {{"result", result}}) : -1;
    }
    std::size_t running() { return daemon.get_json("/v1/captures").at("captures").as_array().size(); }
    // Lines of `perf script` that are samples.
    static std::uint64_t perf_samples(const std::string& file) {
        const auto text = test::output_of("/usr/bin/perf", {"script", "-f", "-i", file, "-F", "event"});
        std::uint64_t lines = 0;
        for (const auto line : split(text, '\n')) lines += trim(line).empty() ? 0 : 1;
        return lines;
    }
    static std::uint64_t samples(const ReportView& report) {
        std::uint64_t sum = 0;
        for (const auto& event : report.root().at("events").as_array()) {
            sum += event.at("samples").to_number<std::uint64_t>();
        }
        return sum;
    }

    test::TempFolder folder;
    test::DaemonProcess daemon{folder};
};

void expect_shares(const ReportView& report, const std::string& own_output, double least) {
    const auto own = Client::numbers(own_output);
    ASSERT_EQ(own.size(), 2U) << own_output;
    const auto a = static_cast<double>(report.function("cpu-clock", "hot_a", "self_samples"));
    const auto b = static_cast<double>(report.function("cpu-clock", "hot_b", "self_samples"));
    ASSERT_GT(a + b, least);
    const auto interval = analyzer::wilson(a, a + b, analyzer::kZ999);
    const double truth = own[0] / (own[0] + own[1]);
    EXPECT_GE(truth, interval.low) << a << " of " << a + b;
    EXPECT_LE(truth, interval.high) << a << " of " << a + b;
}

TEST_F(CaptureTest, OfAProcessHasItsSharesAndAFileThatPerfReads) {
    start();
    Client load("split70_30", {"120"});
    const auto file = folder / "p.perf.data";
    auto command = capture(fmt::format("--json -p {} -d 4s -F 999 -o {} --flamegraph {} --label 'the load'", load.pid(),
                                       file, folder / "f.svg"));
    const ReportView report(command.output());
    ASSERT_EQ(exit_code(command), 0) << said();
    expect_shares(report, load.stop(), 999 * 4 / 4);
    const auto count = samples(report);
    EXPECT_EQ(perf_samples(file), count);
    EXPECT_EQ(samples(ReportView::of_perfvigil({"report", "--json", file})), count);
    EXPECT_THAT(test::slurp(folder / "f.svg"), HasSubstr("hot_a"));
    EXPECT_THAT(said(), HasSubstr(fmt::format("-p {}: up to ", load.pid())));
    EXPECT_TRUE(daemon.wait_until([&] { return captures("complete") == 1; })) << "told with the next slice";
    EXPECT_THAT(daemon.log(), HasSubstr("audit uid=0 pid="));
    EXPECT_THAT(daemon.log(), HasSubstr("label=the%20load"));
    const auto noted = [&] {
        return std::ranges::any_of(daemon.stored_windows(), [&](const auto& id) {
            return daemon.get("/v1/windows/" + id + "/report?format=json").body.contains("--label 'the load'");
        });
    };
    EXPECT_TRUE(daemon.wait_until(noted)) << "windows that it overlaps say so";
}

TEST_F(CaptureTest, OfTheWholeHostBesideTheContinuousRecording) {
    start();
    Client load("split70_30", {"120"});
    const auto file = folder / "a.perf.data";
    auto command = capture("--json -a -d 3s -F 499 -o " + file);
    const ReportView report(command.output());
    ASSERT_EQ(exit_code(command), 0) << said();
    expect_shares(report, load.stop(), 499 * 3 / 4);
    EXPECT_EQ(perf_samples(file), samples(report));
    for (const auto number : report.cpus()) {
        const auto cpu = report.cpu(number);
        EXPECT_NEAR(cpu.ticks_due, 499 * cpu.seconds, 0.01 * 499 * cpu.seconds) << "a ledger of its own";
    }
    EXPECT_EQ(daemon.get_json("/v1/status").at("events").as_array().at(0).at("frequency_hertz").to_number<int>(), 99)
        << "the recording goes on as it did";
}

TEST_F(CaptureTest, StartsAtOnce) {
    start();
    double slowest = 0;
    for (int i = 0; i < 5; ++i) {
        const auto reply = test::output_of("/usr/bin/curl",
                                           {"-s", "--unix-socket", daemon.socket(), "-X", "POST",
                                            "http://localhost/v1/captures?duration=200ms&frequency=99&format=stream"});
        const auto at = reply.find("\"start_seconds\":");
        ASSERT_NE(at, std::string::npos);
        slowest = std::max(slowest, std::stod(reply.substr(at + 16)));
    }
    fmt::print("events enabled at most {:.1f} ms after the request\n", 1000 * slowest);
    EXPECT_LT(slowest, 0.05);
}

TEST_F(CaptureTest, EndsAtCtrlCAndKeepsWhatWasRecorded) {
    start();
    Client load("spin", {"60", "0"});
    const auto file = folder / "i.perf.data";
    auto command = capture(fmt::format("--json -p {} -d 60s -o {}", load.pid(), file));
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 1; }));
    std::this_thread::sleep_for(1s);
    ::kill(command.pid(), SIGINT);
    const ReportView report(command.output());
    EXPECT_EQ(exit_code(command), 0);
    EXPECT_THAT(said(), HasSubstr("as asked; what was recorded is kept"));
    EXPECT_GT(samples(report), 100U);
    EXPECT_EQ(perf_samples(file), samples(report));
    EXPECT_TRUE(daemon.wait_until([&] { return captures("interrupted") == 1; }));
}

TEST_F(CaptureTest, EndsWithItsProcess) {
    start();
    Client load("spin", {"2", "0"});
    auto command = capture(fmt::format("--json -p {} -d 60s", load.pid()));
    (void)load.output();
    const ReportView report(command.output());
    EXPECT_EQ(exit_code(command), 0);
    EXPECT_THAT(said(), HasSubstr("the process ended after"));
    EXPECT_GT(samples(report), 100U);
    auto gone = capture(fmt::format("-p {}", load.pid()));
    (void)gone.output();
    EXPECT_EQ(exit_code(gone), 2);
    EXPECT_THAT(said(), HasSubstr(fmt::format("there is no process {}", load.pid())));
}

TEST_F(CaptureTest, ACallerThatVanishesEndsIt) {
    start();
    auto command = capture("-a -d 60s -F 199");
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 1; }));
    ::kill(command.pid(), SIGKILL);
    EXPECT_TRUE(daemon.wait_until([&] { return running() == 0; }, 10s));
    EXPECT_TRUE(daemon.wait_until([&] { return captures("disconnected") + captures("interrupted") == 1; }));
}

TEST_F(CaptureTest, TheDaemonsEndLeavesAWholeFileAndASentence) {
    start();
    Client load("spin", {"60", "0"});
    const auto file = folder / "s.perf.data";
    auto command = capture(fmt::format("--json -p {} -d 60s -o {}", load.pid(), file));
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 1; }));
    std::this_thread::sleep_for(1s);
    daemon.signal(SIGTERM);
    const ReportView report(command.output());
    EXPECT_EQ(exit_code(command), 0) << said();
    EXPECT_THAT(said(), HasSubstr("the daemon stops; what was recorded until then is kept"));
    EXPECT_EQ(perf_samples(file), samples(report));
    EXPECT_GT(samples(report), 100U);
    EXPECT_EQ(daemon.wait(10s), 0) << daemon.log();
}

TEST_F(CaptureTest, OverTheBudgetIsRefusedWithFiguresUnlessForced) {
    start("budget: {cpu: 100%, captures: 0.1%}\n");
    auto refused = capture("-a -F 4000 -d 1s");
    EXPECT_EQ(refused.output(), "");
    EXPECT_EQ(exit_code(refused), 2);
    EXPECT_THAT(said(), testing::AllOf(HasSubstr("-a: up to "), HasSubstr("over budget.captures, 0.10 %"),
                                       HasSubstr("--force")));
    EXPECT_TRUE(daemon.wait_until([&] { return captures("refused") == 1; }));
    auto forced = capture("-a -F 4000 -d 1s --force --json");
    const ReportView report(forced.output());
    EXPECT_EQ(exit_code(forced), 0) << said();
    EXPECT_GT(samples(report), 0U);
}

TEST_F(CaptureTest, WhatItCostsIsItsOwnBudgetsAndNotTheContinuousRecordings) {
    start("budget: {cpu: 5%, captures: 100%}\n");
    Client load("split70_30", {"120"});
    const auto value = [&](const std::string& name, const std::map<std::string, std::string>& labels) {
        const auto parsed = test::parse_exposition(daemon.get("/metrics").body);
        return parsed ? parsed->sum(name, labels) : 0;
    };
    auto command = capture("-a -F 6000 -d 6s --json");
    double most = 0;
    EXPECT_TRUE(daemon.wait_until([&] {
        most = std::max(most, value("perfvigil_budget_ratio", {{"resource", "captures"}}));
        return captures("complete") == 1;
    }));
    (void)command.output();
    // One busy CPU at least gives 6000 samples a second of 5 us and more.
    EXPECT_GT(most, 0.03 / static_cast<double>(collector::online_cpus().value().size()));
    EXPECT_EQ(value("perfvigil_recording_steps_total", {{"cause", "budget"}}), 0) << daemon.log();
}

TEST_F(CaptureTest, MoreThanRunAtATimeWaitAndMoreThanThatAreRefused) {
    start("budget: {cpu: 100%, captures: 100%}\non_demand: {concurrent: 1, waiting: 1}\n");
    auto first = capture("-a -d 3s -F 99 --json");
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 1; }));
    Client second("/bin/sh", {"-c", std::string(test::kPerfvigil) + " capture --socket " + daemon.socket() +
                                        " -a -d 1s -F 99 --json 2>" + (folder / "second")});
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 2; }));
    Client third("/bin/sh", {"-c", std::string(test::kPerfvigil) + " capture --socket " + daemon.socket() +
                                       " -a -d 1s -F 99 2>" + (folder / "third")});
    (void)third.output();
    EXPECT_EQ(exit_code(third), 2);
    EXPECT_THAT(test::slurp(folder / "third"), HasSubstr("1 captures run and 1 wait already"));
    EXPECT_GT(samples(ReportView(first.output())), 0U);
    EXPECT_GT(samples(ReportView(second.output())), 0U);
    EXPECT_THAT(test::slurp(folder / "second"), HasSubstr("others run; 1 in line"));
    EXPECT_TRUE(daemon.wait_until([&] { return captures("complete") == 2; }));
}

// A control group of the hierarchy that samples name, with one program in it.
class OwnCgroup {
public:
    explicit OwnCgroup(pid_t member) {
        const auto mount = collector::find_cgroup_mount(test::slurp("/proc/self/mountinfo"));
        if (!mount) return;
        folder_ = mount->mount_point + "/perfvigil-test-" + std::to_string(::getpid()) + ".service";
        std::error_code error;
        if (!std::filesystem::create_directory(folder_, error)) return;
        test::spill(folder_ + "/cgroup.procs", std::to_string(member));
        path = "/" + std::string(base_name(folder_));
    }
    ~OwnCgroup() { ::rmdir(folder_.c_str()); }
    std::string path;  // empty: there is none

private:
    std::string folder_;
};

TEST_F(CaptureTest, ACallerThatVanishesWhileItWaitsLeavesTheLine) {
    start("budget: {cpu: 100%, captures: 100%}\non_demand: {concurrent: 1, waiting: 2}\n");
    auto first = capture("-a -d 4s -F 99 --json");
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 1; }));
    {
        const Client second(test::kPerfvigil, {"capture", "--socket", daemon.socket(), "-a", "-d", "1s"});
        ASSERT_TRUE(daemon.wait_until([&] { return running() == 2; }));
    }
    EXPECT_TRUE(daemon.wait_until([&] { return running() == 1; })) << "its place is free again";
    EXPECT_TRUE(daemon.wait_until([&] { return captures("disconnected") == 1; }));
    EXPECT_GT(samples(ReportView(first.output())), 0U);
    EXPECT_TRUE(daemon.wait_until([&] { return running() == 0; }));
}

// A number is a process only as long as that lives.
TEST_F(CaptureTest, APidThatAnotherProcessHasByNowIsNotCaptured) {
    const std::string last_pid = "/proc/sys/kernel/ns_last_pid";
    if (::access(last_pid.c_str(), W_OK) != 0) GTEST_SKIP() << "needs to choose a process's number (ns_last_pid)";
    start("budget: {cpu: 100%, captures: 100%}\non_demand: {concurrent: 1, waiting: 2}\n");
    auto first = capture("-a -d 5s -F 99 --json");
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 1; }));
    auto asked_for = std::make_unique<Client>("split70_30", std::vector<std::string>{"60"});
    const auto pid = asked_for->pid();
    Client second("/bin/sh", {"-c", "exec " + std::string(test::kPerfvigil) + " capture --socket " + daemon.socket() +
                                        " -d 2s -p " + std::to_string(pid) + " 2>" + (folder / "second")});
    ASSERT_TRUE(daemon.wait_until([&] { return running() == 2; }));
    asked_for.reset();
    std::unique_ptr<Client> other;
    for (int i = 0; i < 100 && (!other || other->pid() != pid); ++i) {
        test::spill(last_pid, std::to_string(pid - 1));
        other = std::make_unique<Client>("split70_30", std::vector<std::string>{"60"});
    }
    if (other->pid() != pid) GTEST_SKIP() << "another process took the number each time";
    (void)first.output();
    (void)second.output();
    EXPECT_EQ(exit_code(second), 2);
    EXPECT_THAT(test::slurp(folder / "second"), HasSubstr("the process ended before its capture began"));
}

TEST_F(CaptureTest, OfAControlGroupAndOfAUnitHasOnlyTheirs) {
    start();
    std::optional<Client> inside(std::in_place, "spin", std::vector<std::string>{"60"});
    const OwnCgroup group(inside->pid());
    if (group.path.empty()) GTEST_SKIP() << "no control group can be made here";
    Client outside("split70_30", {"60"});
    const auto file = folder / "g.perf.data";
    for (const auto& target : {"--cgroup " + group.path, "--unit " + group.path.substr(1)}) {
        auto command = capture(fmt::format("--json {} -d 2s -F 499 -o {}", target, file));
        const ReportView report(command.output());
        ASSERT_EQ(exit_code(command), 0) << said();
        EXPECT_THAT(said(), HasSubstr("it costs what -a does"));
        EXPECT_GT(samples(report), 499U / 4);
        EXPECT_EQ(report.function("cpu-clock", "hot_a", "total_samples"), 0U);
        EXPECT_EQ(report.root().at("filter").as_string(), target);
        EXPECT_EQ(perf_samples(file), samples(report));
        EXPECT_TRUE(report.cpus().empty()) << "a CPU's ledger is of all that ran there";
        EXPECT_EQ(samples(ReportView::of_perfvigil({"report", "--json", file})), samples(report));
    }
    inside.reset();  // the folder goes when it is empty
}

TEST_F(CaptureTest, WrongRequestsAreSaid) {
    start();
    for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
             {"-p 4194305", "there is no process 4194305"},
             {"--unit nowhere-to-be-found", "nowhere-to-be-found.service runs here"},
             {"--cgroup /nowhere", "there is no control group /nowhere"},
             {"--cpu 4095", "not all of these CPUs are online"},
             {"-d 11min", "duration: "},
             {"-e nonsense", "event: "}}) {
        auto command = capture(arguments);
        EXPECT_EQ(command.output(), "") << arguments;
        EXPECT_EQ(exit_code(command), 2) << arguments;
        EXPECT_THAT(said(), HasSubstr(why)) << arguments;
    }
}

}  // namespace
}  // namespace perfvigil
