// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon counts against truths it did not make: the kernel's own accounting of a cgroup, a stopped reader's
// loss, a thousand processes of two milliseconds, the gaps between its capture files.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <thread>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_facts.hpp"
#include "tests/support/cgroup_unit.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/length.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using test::Client;
using test::DaemonProcess;
using test::ReportView;

class DaemonNumbers : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    // Every stored window, oldest first.
    std::vector<ReportView> reports() {
        auto ids = daemon.stored_windows();
        std::vector<ReportView> views;
        for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
            views.emplace_back(daemon.get("/v1/windows/" + *id + "/report?format=json").body);
        }
        return views;
    }
    std::uint64_t rss_kib() const {
        const auto status = read_file(fmt::format("/proc/{}/status", daemon.pid())).value();
        const auto at = status.find("VmRSS:");
        return static_cast<std::uint64_t>(std::strtoull(status.c_str() + at + 6, nullptr, 10));
    }

    test::TempFolder folder;
    DaemonProcess daemon{folder};
};

TEST_F(DaemonNumbers, LossOfAReaderThatWasStoppedForThreeSeconds) {
    if (collector::online_cpus().value().size() < 2) GTEST_SKIP() << "needs a CPU beside the daemon's";
    // Busy from before the first tick: an idle CPU may write no samples, and that is not loss.
    const Client spin("spin", {"90", "1"});
    std::this_thread::sleep_for(1s);
    daemon.start({.frequency = "5000Hz", .recording = ", rings: {samples: 64KiB}"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    std::this_thread::sleep_for(1s);
    daemon.signal(SIGSTOP);
    std::this_thread::sleep_for(3s);
    daemon.signal(SIGCONT);
    ASSERT_TRUE(daemon.wait_windows(daemon.stored_windows().size() + 2)) << daemon.log();

    double due = 0;
    double samples = 0;
    double lost = 0;
    double stolen = 0;
    bool warned = false;
    for (const auto& report : reports()) {
        const auto cpu = report.cpu(1);
        if (cpu.lost == 0) continue;  // the windows that the loss fell into
        due += cpu.ticks_due;
        samples += static_cast<double>(cpu.samples);
        lost += static_cast<double>(cpu.lost);
        stolen += report.ledger(1, "stolen") * 5000;
        for (const auto& row : report.root().at("observations").as_array()) {
            warned |= row.at("id").as_string() == "lost_samples" && row.at("severity").as_string() == "warning";
        }
    }
    EXPECT_TRUE(warned);
    EXPECT_GT(lost, 0.5 * 3 * 5000);
    EXPECT_NEAR(due - samples, lost, 0.01 * due + stolen);
}

TEST_F(DaemonNumbers, ShortLivesAreNamedAndForgotten) {
    const int count = test::by_length(1500, 10000);
    daemon.start({});
    ASSERT_TRUE(daemon.wait_windows(1)) << daemon.log();
    const auto before = rss_kib();
    Client children("short_children", {std::to_string(count), "2000"});
    (void)children.output();
    ASSERT_TRUE(daemon.wait_windows(daemon.stored_windows().size() + 1)) << daemon.log();

    double named = 0;
    double all = 0;
    for (const auto& report : reports()) {
        for (const auto& value : report.event("cpu-clock").at("functions").as_array()) {
            const auto& row = value.as_object();
            if (base_name(row.at("dso").as_string()) != "short_children") continue;
            const auto samples = row.at("self_samples").to_number<double>();
            all += samples;
            if (!row.contains("unknown")) named += samples;
        }
    }
    // Each child spins for two milliseconds, a fifth of a sampling period.
    EXPECT_GT(all, 0.1 * count);
    EXPECT_GE(named, 0.9 * all) << named << " of " << all;
    EXPECT_LT(rss_kib(), before + 8192) << "before: " << before << " KiB";
}

TEST(UnitNumbers, FunctionsOfAUnitAddUpToItsCpuStat) {
    const auto mount = test::cgroup2_mount();
    if (mount.empty()) GTEST_SKIP() << "no cgroup2 is mounted";
    const test::CgroupUnit unit(mount);
    if (!unit.made()) GTEST_SKIP() << mount << " cannot be written";
    const int seconds = test::by_length(20, 60);
    Client load("split70_30", {"300"});
    Client half("busy_load", {"0", "40", "300"});
    ASSERT_TRUE(unit.add(load.pid()) && unit.add(half.pid()));

    const auto began = std::chrono::steady_clock::now();
    const double before = unit.used_seconds();
    const auto report = ReportView::of_perfvigil({"record", "--json", "-a", "-d", fmt::format("{}s", seconds)});
    const double used = unit.used_seconds() - before;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;

    double sampled = 0;
    for (const auto& row : report.event("cpu-clock").at("units").as_array()) {
        if (row.as_object().at("unit").as_string() == "load.service") {
            sampled = row.as_object().at("period").to_number<double>() / 1e9;
        }
    }
    // The recorder's start and end lie outside its recording: the load runs evenly, so its rate is compared.
    const double truth = used * report.cpu(0).seconds / wall.count();
    const double ticks = truth * 99;
    EXPECT_NEAR(sampled, truth, 3.29 * std::sqrt(ticks) / 99 + 0.02 * truth);
    (void)load.stop();
    (void)half.stop();
}

// Times of samples by CPU, from a capture that perf reads alone.
std::map<int, std::vector<double>> times_in(const std::string& file) {
    std::map<int, std::vector<double>> times;
    const auto text = test::output_of("/usr/bin/perf", {"script", "-f", "-i", file, "-F", "cpu,time", "-G", "--ns"});
    for (const auto line : split(text, '\n')) {
        const auto open = line.find('[');
        const auto close = line.find(']');
        const auto colon = line.find(':');
        if (open == std::string_view::npos || close == std::string_view::npos || colon == std::string_view::npos)
            continue;
        times[std::stoi(std::string(line.substr(open + 1)))].push_back(
            std::stod(std::string(trim(line.substr(close + 1, colon - close - 1)))));
    }
    return times;
}

// When a busy CPU ran something else, or nothing at all, by its own witness (tests/clients/absences.c). Samples may be
// missing then: the hypervisor took the CPU, or the kernel worked with interrupts off. While the witness ran they may
// not.
class Absences {
public:
    explicit Absences(const std::vector<double>& numbers) {
        for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
            absences_.emplace_back(numbers[i] / 1e9, numbers[i + 1] / 1e9);
        }
    }
    [[nodiscard]] double within(double from, double to) const {
        double sum = 0;
        for (const auto& [start, end] : absences_) sum += std::max(0.0, std::min(to, end) - std::max(from, start));
        return sum;
    }

private:
    std::vector<std::pair<double, double>> absences_;
};

TEST_F(DaemonNumbers, CaptureFilesFollowEachOtherWithoutAGap) {
    const auto length = test::by_length(16s, 60s);
    daemon.start({.frequency = "999Hz", .capturing = ", age: 5s"});
    std::vector<std::unique_ptr<Client>> loads;
    const auto cpus = collector::online_cpus().value();
    for (const auto cpu : cpus) {
        loads.push_back(
            std::make_unique<Client>("absences", std::vector<std::string>{"300", std::to_string(cpu.value)}));
    }
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    std::this_thread::sleep_for(1s + length);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(5s), 0);

    const auto files = DaemonProcess::files(daemon.captures(), ".perf.data");
    ASSERT_GE(files.size(), static_cast<std::size_t>(length / 5s)) << "cut every 5 s";
    struct Sample {
        double time = 0;
        std::size_t file = 0;
    };
    std::map<int, std::vector<Sample>> all;
    for (std::size_t file = 0; file < files.size(); ++file) {
        for (const auto& [cpu, times] : times_in(daemon.captures() + "/" + files[file])) {
            for (const double time : times) all[cpu].push_back({time, file});
        }
    }
    ASSERT_EQ(all.size(), loads.size());
    constexpr double kPeriod = 1.0 / 999;
    for (std::size_t n = 0; n < loads.size(); ++n) {
        const Absences absences(Client::numbers(loads[n]->stop()));
        const auto& samples = all.at(static_cast<int>(cpus[n].value));
        std::size_t late_ticks = 0;
        for (std::size_t i = 1; i < samples.size(); ++i) {
            const auto& [time, file] = samples[i];
            const double gap = time - samples[i - 1].time;
            ASSERT_GT(gap, 0) << "cpu " << cpus[n].value << ": order or doubles";
            // The first second is the loads' start.
            if (time < samples.front().time + 1) continue;
            const double unexplained = gap - absences.within(samples[i - 1].time, time);
            // A hypervisor that delivers a timer a period late skips one tick without stopping the CPU. A cut does not.
            const bool across_a_cut = file != samples[i - 1].file;
            EXPECT_LT(unexplained, (across_a_cut ? 2 : 2.5) * kPeriod)
                << "cpu " << cpus[n].value << fmt::format(": gap of {:.6f} s before {:.6f}", gap, time);
            if (unexplained >= 2 * kPeriod) ++late_ticks;
        }
        EXPECT_LE(late_ticks, samples.size() / 1000) << "cpu " << cpus[n].value;
    }
}

}  // namespace
}  // namespace perfvigil
