// SPDX-License-Identifier: GPL-2.0-or-later
// What we cost beside perf, on the same load in the same run: the daemon at 99 Hz against `perf record -F 99 -a -g`,
// and `perfvigil report` against `perf report` on one capture of many samples. Run it as root on an idle machine.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/length.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::test {
namespace {

using namespace std::chrono_literals;

struct Cost {
    double cpu_seconds = 0;
    double wall_seconds = 0;
    long max_rss_kib = 0;
    int status = 0;
};

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Runs a shell command to its end.
Cost cost_of(const std::string& command) {
    const auto began = system_clock().monotonic();
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    Cost cost;
    rusage usage{};
    ::wait4(pid, &cost.status, 0, &usage);
    cost.wall_seconds = to_seconds(system_clock().monotonic() - began);
    cost.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    cost.max_rss_kib = usage.ru_maxrss;
    return cost;
}

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

void measure_report() {
    TempFolder folder;
    const Client deep("recursion", {"40", "3600"});
    const Client hot("split70_30", {"3600"});
    const auto file = folder / "big.perf.data";
    (void)cost_of(fmt::format("perf record -q -F 20000 -a -g -o {} -- sleep 8 2>/dev/null", file));
    const auto ours = cost_of(fmt::format("{} report {} > {}", test::kPerfvigil, file, folder / "ours"));
    const auto chains = cost_of(fmt::format("perf report -f -i {} --stdio > {} 2>/dev/null", file, folder / "chains"));
    const auto flat =
        cost_of(fmt::format("perf report -f -i {} --stdio -g none > {} 2>/dev/null", file, folder / "flat"));
    fmt::print("report of {}        wall s   ratio   peak KiB\n", human_bytes(std::filesystem::file_size(file)));
    fmt::print("  perfvigil report            {:>8.2f}{:>8}{:>11}\n", ours.wall_seconds, "1.0", ours.max_rss_kib);
    fmt::print("  perf report, chains         {:>8.2f}{:>8.1f}{:>11}\n", chains.wall_seconds,
               chains.wall_seconds / ours.wall_seconds, chains.max_rss_kib);
    fmt::print("  perf report -g none         {:>8.2f}{:>8.1f}{:>11}\n", flat.wall_seconds,
               flat.wall_seconds / ours.wall_seconds, flat.max_rss_kib);
}

}  // namespace
}  // namespace perfvigil::test

int main() {
    if (const auto why = perfvigil::test::why_no_daemon(); !why.empty()) {
        fmt::print("{}\n", why);
        return 1;
    }
    perfvigil::test::measure_recording(perfvigil::test::by_length(60, 300));
    perfvigil::test::measure_report();
}
