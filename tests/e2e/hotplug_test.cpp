// SPDX-License-Identifier: GPL-2.0-or-later
// A CPU goes offline and comes back under a running daemon and a recording: its time ends and begins again, nothing is
// missed that is not there, and it is sampled as before. Everything on this machine feels that, so it runs only where
// asked for: PERFVIGIL_TEST_HOTPLUG=1; or =emulated, as in the virtual machine of ./dev vm symbols, whose CPUs stand
// still whenever the host has other work, and do not know it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>
#include <thread>

#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::Client;
using test::DaemonProcess;
using test::ReportView;

// CPU 1 is away as long as this lives.
class Away {
public:
    Away() : begun_(steady_clock::now()) { set("0"); }
    ~Away() {
        for (int i = 0; i < 10 && !set("1"); ++i) std::this_thread::sleep_for(1s);
    }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(steady_clock::now() - begun_).count(); }

private:
    static bool set(const char* value) {
        std::ofstream file("/sys/devices/system/cpu/cpu1/online");
        file << value << std::flush;
        return file.good();
    }
    steady_clock::time_point begun_;
};

class Hotplug : public testing::Test {
protected:
    void SetUp() override {
        if (std::getenv("PERFVIGIL_TEST_HOTPLUG") == nullptr)
            GTEST_SKIP() << "set PERFVIGIL_TEST_HOTPLUG=1 to take CPU 1 offline";
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    [[nodiscard]] std::vector<unsigned> cpus() const {
        return boost::json::value_to<std::vector<unsigned>>(daemon.get_json("/v1/status").at("cpus"));
    }
    [[nodiscard]] int counter(std::string_view name) const {
        return daemon.get_json("/v1/status").at("counters").at(name).to_number<int>();
    }
    [[nodiscard]] std::set<std::string> degraded() const {
        std::set<std::string> reasons;
        const auto status = daemon.get_json("/v1/status");
        for (const auto& row : status.at("degraded").as_array()) reasons.emplace(row.at("reason").as_string());
        return reasons;
    }

    test::TempFolder folder;
    DaemonProcess daemon{folder};
};

constexpr double kTick = 0.010101010;

// What one account of the whole time has to say of a CPU that was away for so long.
struct Told {
    double seconds[2] = {0, 0};
    double unexplained[2] = {0, 0};
    double spin = 0;  // seconds of spin_here

    void add(const ReportView& report) {
        for (const unsigned cpu : report.cpus()) {
            seconds[cpu] += report.cpu(cpu).seconds;
            unexplained[cpu] += report.ledger(cpu, "unexplained");
        }
        spin += static_cast<double>(report.function("cpu-clock", "spin_here", "self_samples")) * kTick;
    }
    // It is noticed within a second, and its last reading is of when it went.
    void judge(double away, double spun, const std::string& by) const {
        if (std::string_view(std::getenv("PERFVIGIL_TEST_HOTPLUG")) == "emulated") {
            EXPECT_GT(seconds[0] - seconds[1], away - 0.5) << by;
            EXPECT_GT(spin, 0.1 * spun) << by;
            return;
        }
        EXPECT_NEAR(seconds[0] - seconds[1], away, 1.6) << by;
        for (const unsigned cpu : {0U, 1U}) {
            // A jiffy of /proc/stat at either end of each part of its time, and the sampling error of busy.
            EXPECT_LE(unexplained[cpu], 0.02 * seconds[cpu] + 4 * kTick + 0.04) << by << ", cpu " << cpu;
        }
        EXPECT_NEAR(spin, spun, 0.05 * spun + 4 * kTick) << by;
    }
};

TEST_F(Hotplug, ACpuThatGoesAndComesBackIsToldAsItWas) {
    daemon.start({});
    ASSERT_TRUE(daemon.wait_windows(1)) << daemon.log();
    ASSERT_EQ(cpus(), (std::vector<unsigned>{0, 1}));
    const auto reasons = degraded();
    const auto before = daemon.stored_windows();
    const auto file = folder / "x.data";
    Client record(test::kPerfvigil, {"record", "-a", "-o", file, "--json"});
    // Its file is there once the events are on.
    EXPECT_TRUE(daemon.wait_until([&] { return std::filesystem::exists(file + ".partial"); }));
    std::this_thread::sleep_for(2s);

    double away = 0;
    {
        const Away cpu1;
        EXPECT_TRUE(daemon.wait_until([&] { return cpus() == std::vector<unsigned>{0}; })) << daemon.log();
        std::this_thread::sleep_for(4s);
        EXPECT_EQ(degraded(), reasons) << "a CPU that is not there is not missed";
        away = cpu1.seconds();
    }
    EXPECT_TRUE(daemon.wait_until([&] { return cpus() == std::vector<unsigned>{0, 1}; })) << daemon.log();
    EXPECT_EQ(counter("cpus_gone"), 1);
    EXPECT_EQ(counter("cpus_back"), 1);
    // On the CPU that came back alone, so that all of its samples are that CPU's new events'.
    Client spin("spin", {"6", "1"});
    const double spun = Client::numbers(spin.output()).at(0) / 1e9;
    const auto count = daemon.stored_windows().size();
    ASSERT_TRUE(daemon.wait_windows(count + 2)) << daemon.log();
    EXPECT_EQ(degraded(), reasons);

    Told live;
    live.add(ReportView(record.stop()));
    live.judge(away, spun, "perfvigil record");
    Told offline;
    offline.add(ReportView::of_perfvigil({"report", "--json", file}));
    offline.judge(away, spun, "its file");
    Told windows;
    for (const auto& id : daemon.stored_windows()) {
        if (std::ranges::find(before, id) != before.end()) continue;
        windows.add(ReportView(daemon.get("/v1/windows/" + id + "/report?format=json").body));
    }
    windows.judge(away, spun, "the daemon");
}

}  // namespace
}  // namespace perfvigil
