// SPDX-License-Identifier: GPL-2.0-or-later
// What we cost beside perf, on the same load in the same run: the daemon at 99 Hz against `perf record -F 99 -a -g`.
// Run it as root on an idle machine.
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "tests/support/client.hpp"
#include "tests/support/command_cost.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/length.hpp"

namespace perfvigil::test {
namespace {

using namespace std::chrono_literals;

// utime + stime, fields 14 and 15 of /proc/PID/stat, and one line of its status.
double cpu_seconds_of(pid_t pid) {
    const auto text = read_file(fmt::format("/proc/{}/stat", pid)).value_or("");
    const auto fields = split(std::string_view(text).substr(text.rfind(')') + 2), ' ');
    const auto ticks = static_cast<double>(parse_number<std::uint64_t>(fields[11]).value_or(0)) +
                       static_cast<double>(parse_number<std::uint64_t>(fields[12]).value_or(0));
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}
long kib_of(pid_t pid, std::string_view line) {
    const auto text = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
    const auto at = text.find(line);
    return at == std::string::npos ? 0 : std::strtol(text.c_str() + at + line.size() + 1, nullptr, 10);
}

std::uintmax_t bytes_in(const std::string& folder) {
    std::uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) sum += entry.file_size();
    }
    return sum;
}

void measure_recording(int seconds) {
    std::vector<std::unique_ptr<Client>> loads;
    for (const char* cpu : {"0", "1"})
        loads.push_back(std::make_unique<Client>("busy_load", std::vector<std::string>{cpu, "80", "3600"}));
    TempFolder folder;
    DaemonProcess daemon(folder);
    daemon.start({.slice = "5s", .window = "20s"});
    if (!daemon.wait_windows(1)) {
        fmt::print("the daemon did not come up:\n{}\n", daemon.log());
        return;
    }
    const double before = cpu_seconds_of(daemon.pid());
    const auto bytes = bytes_in(folder.path().string());
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    const double used = cpu_seconds_of(daemon.pid()) - before;
    const auto written = bytes_in(folder.path().string()) - bytes;
    const long rss = kib_of(daemon.pid(), "VmRSS:");
    const long pinned = kib_of(daemon.pid(), "VmPin:");
    daemon.signal(SIGTERM);
    (void)daemon.wait(10s);

    const auto file = folder / "perf.data";
    const auto perf = cost_of(fmt::format("perf record -q -F 99 -a -g -o {} -- sleep {} 2>/dev/null", file, seconds));
    const double per_minute = 60.0 / seconds;
    fmt::print("99 Hz, two CPUs 80 % busy, {} s each    CPU s/min   RSS KiB   VmPin KiB   bytes/min\n", seconds);
    fmt::print("  perfvigild, everything included        {:>10.3f}{:>10}{:>12}{:>12.0f}\n", used * per_minute, rss,
               pinned, static_cast<double>(written) * per_minute);
    fmt::print("  perf record -F 99 -a -g                {:>10.3f}{:>10}{:>12}{:>12.0f}\n",
               perf.cpu_seconds * per_minute, perf.max_rss_kib, "-",
               static_cast<double>(std::filesystem::file_size(file)) * per_minute);
    fmt::print("  ratio                                  {:>10.2f}\n", used / perf.cpu_seconds);
}

}  // namespace
}  // namespace perfvigil::test

int main() {
    if (const auto why = perfvigil::test::why_no_daemon(); !why.empty()) {
        fmt::print("{}\n", why);
        return 1;
    }
    perfvigil::test::measure_recording(perfvigil::test::by_length(60, 300));
}
