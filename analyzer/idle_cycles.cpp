// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/idle_cycles.hpp"

#include <algorithm>

#include "analyzer/kernel_accounts.hpp"

namespace perfvigil::analyzer {
namespace {

// What is sold turbos to 6.2 GHz.
constexpr double kFastestHertz = 7e9;
// Slower than what CPUs poll at, and more than interrupts in an idle CPU come to: a tenth of the time of a fast one.
constexpr double kRunsHertz = 0.3e9;
constexpr double kMostlyIdle = 0.5;  // busy at most
// What idle adds to the cycles of a CPU as full as this is within the error that its frequency may have.
constexpr double kFull = 0.9;

double counted_per_second(const CpuSlice& cpu) {
    return static_cast<double>(cpu.cycles_counted) / to_seconds(cpu.enabled);
}

}  // namespace

std::optional<double> most_busy(const CpuSlice& cpu) {
    const Busy busy = busy_of(cpu, kZ999);
    if (!busy.known || cpu.enabled.count() <= 0) return std::nullopt;
    if (const auto stat = busy_by_proc_stat(cpu)) return std::max(busy.interval.high, *stat);
    if (cpu.idle_samples == 0) return std::nullopt;
    const auto idle = wilson(static_cast<double>(cpu.idle_samples), cpu.ticks_due, kZ999);
    return std::max(busy.interval.high, 1 - idle.low);
}

double idle_cycles_hertz(const CpuSlice& cpu) {
    if (!cpu.cycles_recorded) return 0;
    const auto busy = most_busy(cpu);
    if (!busy || *busy > kMostlyIdle) return 0;
    const double hertz = (counted_per_second(cpu) - *busy * kFastestHertz) / (1 - *busy);
    return hertz >= kRunsHertz ? hertz : 0;
}

double idle_cycles_hertz(std::span<const ProfileCpu> cpus) {
    double most = 0;
    for (const auto& cpu : cpus) most = std::max(most, idle_cycles_hertz(cpu.sum));
    return most;
}

double idle_cycles_hertz(std::span<const CpuSlice> cpus) {
    double most = 0;
    for (const auto& cpu : cpus) most = std::max(most, idle_cycles_hertz(cpu));
    return most;
}

double effective_hertz(const CpuSlice& cpu, double idle_hertz) {
    const double hertz = effective_hertz(cpu);
    if (hertz <= 0) return 0;
    const Busy busy = busy_of(cpu);
    const double counted = counted_per_second(cpu);
    if (counted > kFastestHertz * busy.interval.high) return 0;
    const bool counts_in_idle = idle_hertz > 0 && counted >= idle_hertz / 2;
    return counts_in_idle && busy.interval.low < kFull ? 0 : hertz;
}

}  // namespace perfvigil::analyzer
