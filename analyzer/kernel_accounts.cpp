// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/kernel_accounts.hpp"

#include <algorithm>
#include <cmath>

namespace perfvigil::analyzer {
namespace {

// /proc/stat counts in ticks of 10 ms (USER_HZ), at both ends of the stretch and in each of its columns.
constexpr double kGrain = 2 * 10e6;
constexpr double kOtherTime = 0.02;  // of the recorded time

double as_double(std::uint64_t ns) { return static_cast<double>(ns); }

}  // namespace

Nanoseconds throttled_in_work(const CpuSlice& cpu, Nanoseconds throttled) {
    if (!cpu.times_known) return throttled;
    const double idle = as_double(cpu.times.idle) + as_double(cpu.times.iowait);
    const double not_idle = std::max(0.0, static_cast<double>(cpu.enabled.count()) - idle) + kGrain;
    if (not_idle >= static_cast<double>(throttled.count())) return throttled;
    return Nanoseconds(static_cast<std::int64_t>(not_idle));
}

Nanoseconds silent_time(const CpuSlice& cpu) { return throttled_in_work(cpu, cpu.throttled); }

std::optional<double> busy_by_proc_stat(const CpuSlice& cpu) {
    if (!cpu.times_known || cpu.enabled.count() <= 0) return std::nullopt;
    const auto& times = cpu.times;
    const double busy = as_double(times.user + times.system + times.irq + times.softirq);
    const double all = busy + as_double(times.idle + times.iowait + times.steal);
    const auto recorded = static_cast<double>(cpu.enabled.count());
    if (all <= 0 || std::abs(all - recorded) > kOtherTime * recorded + 4 * kGrain) return std::nullopt;
    return busy / all;
}

std::optional<double> busy_disagreement(const CpuSlice& cpu) {
    const auto stat = busy_by_proc_stat(cpu);
    const Busy ours = busy_of(cpu, kZ999);
    if (!stat || !ours.known) return std::nullopt;
    const double grain = kGrain / static_cast<double>(cpu.enabled.count());
    if (*stat > ours.interval.high + grain) return *stat - ours.interval.high - grain;
    if (*stat < ours.interval.low - grain) return *stat - ours.interval.low + grain;
    return 0;
}

Waiting waiting_of(const std::vector<ProfileCpu>& cpus) {
    Waiting sum;
    for (const auto& cpu : cpus) {
        if (!cpu.busy.known) continue;
        const auto time = static_cast<double>(cpu.sum.enabled.count());
        sum.waited += as_double(cpu.run_delay_ns);
        sum.ran += cpu.busy.ratio * time;
        sum.time += time;
    }
    return sum;
}

}  // namespace perfvigil::analyzer
