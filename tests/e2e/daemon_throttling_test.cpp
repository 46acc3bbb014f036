// SPDX-License-Identifier: GPL-2.0-or-later
// A unit that its own CPU limit stops: the daemon's numbers against the kernel's cpu.stat.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/fd.hpp"
#include "collector/cgroup_throttling.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/exposition.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using test::Client;
using test::DaemonProcess;

bool write_text(const std::string& path, const std::string& text) {
    const auto fd = open_file(path, O_WRONLY);
    return fd && write_all(fd->get(), std::as_bytes(std::span(text))).has_value();
}

// A cgroup shaped like a systemd service that may use a fifth of a CPU, in either hierarchy; removed at the end.
class LimitedUnit {
public:
    LimitedUnit() {
        const auto mount = collector::find_cgroup_mount(read_file("/proc/self/mountinfo").value_or(""), "cpu");
        if (!mount) return;
        slice_ = mount->mount_point + "/perfvigillimit.slice";
        path_ = slice_ + "/limited.service";
        if (::mkdir(slice_.c_str(), 0755) != 0) return;
        // v2: children have the controller where their parents hand it down.
        (void)write_text(mount->mount_point + "/cgroup.subtree_control", "+cpu");
        (void)write_text(slice_ + "/cgroup.subtree_control", "+cpu");
        if (::mkdir(path_.c_str(), 0755) != 0) return;
        limited_ =
            write_text(path_ + "/cpu.max", "20000 100000") ||
            (write_text(path_ + "/cpu.cfs_period_us", "100000") && write_text(path_ + "/cpu.cfs_quota_us", "20000"));
    }
    ~LimitedUnit() {
        ::rmdir(path_.c_str());
        ::rmdir(slice_.c_str());
    }
    [[nodiscard]] bool limited() const { return limited_; }
    [[nodiscard]] bool add(pid_t pid) const { return write_text(path_ + "/cgroup.procs", std::to_string(pid)); }
    [[nodiscard]] double throttled_seconds() const {
        const auto counters = collector::parse_cpu_stat(read_file(path_ + "/cpu.stat").value_or(""));
        return counters ? to_seconds(counters->throttled) : 0;
    }

private:
    std::string slice_;
    std::string path_;
    bool limited_ = false;
};

TEST(DaemonThrottling, AUnitStoppedByItsOwnLimitIsNamedWithItsTime) {
    if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    const LimitedUnit unit;
    if (!unit.limited()) GTEST_SKIP() << "no cgroup can be limited here";
    test::TempFolder folder;
    DaemonProcess daemon(folder);
    daemon.start({});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    Client load("spin", {"60", "0"});
    ASSERT_TRUE(unit.add(load.pid()));
    ASSERT_TRUE(daemon.wait_windows(daemon.stored_windows().size() + 2)) << daemon.log();
    (void)load.stop();
    std::this_thread::sleep_for(1500ms);  // the last slice with it
    const double truth = unit.throttled_seconds();
    EXPECT_GT(truth, 2) << "a fifth of a CPU for ten seconds";

    const auto metrics = test::parse_exposition(daemon.get("/metrics").body);
    ASSERT_TRUE(metrics) << metrics.error().message;
    EXPECT_NEAR(metrics->sum("perfvigil_unit_throttled_seconds_total"), truth, 0.02 * truth + 0.1);
    EXPECT_GT(metrics->value("perfvigil_unit_throttled_seconds_total", {{"unit", "limited.service"}}).value_or(0), 0);
    // The same in a capture's file, and in the report of it anywhere.
    Client more("spin", {"60", "0"});
    ASSERT_TRUE(unit.add(more.pid()));
    const auto file = folder / "throttled.data";
    (void)test::output_of(test::kPerfvigil, {"record", "-a", "-d", "3s", "-o", file});
    (void)more.stop();
    const auto report = test::output_of(test::kPerfvigil, {"report", file});
    EXPECT_TRUE(report.contains("limited.service was stopped by its own CPU limit")) << report;
    // Kernels without CONFIG_SCHEDSTATS do not say.
    if (read_file("/proc/schedstat")) {
        EXPECT_TRUE(report.contains("Runnable tasks waited")) << report;
    }

    bool noted = false;
    for (const auto& id : daemon.stored_windows()) {
        noted =
            noted || daemon.get("/v1/windows/" + id + "/report").body.contains("limited.service was stopped by its");
    }
    EXPECT_TRUE(noted);
}

}  // namespace
}  // namespace perfvigil
