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
// Of the rate of work; the idle loop's own code is under that unless it runs for half of idle time.
constexpr double kCountsInIdle = 0.5;
// Upper by lower end of the cycles outside idle: with more, what is left of a frequency is chance.
constexpr double kVague = 1.5;
// Of so many samples the one that is not full yet at either end is a small part: they stand for nearly all that was
// counted, or something keeps them from doing so.
constexpr std::uint64_t kTelling = 20;
constexpr double kExplained = 0.85;

double counted_per_second(const CpuSlice& cpu) {
    return static_cast<double>(cpu.cycles_counted) / to_seconds(cpu.enabled);
}

// Whether the CPU's samples say what its cycles were.
bool is_explained(const CpuSlice& cpu) {
    return cpu.cycles_samples >= kTelling &&
           static_cast<double>(cpu.cycles_sampled) >= kExplained * static_cast<double>(cpu.cycles_counted);
}

Interval idle_share(const CpuSlice& cpu, double z, std::uint64_t not_idle = 0) {
    const auto n = static_cast<double>(cpu.cycles_samples);
    return wilson(cycles_idle_share(cpu) * n, n + static_cast<double>(not_idle), z);
}

IdleCycles beyond_what_work_makes(const CpuSlice& cpu) {
    const auto busy = most_busy(cpu);
    if (!busy || *busy > kMostlyIdle) return {};
    const double counted = counted_per_second(cpu);
    const double hertz = (counted - *busy * kFastestHertz) / (1 - *busy);
    if (hertz < kRunsHertz) return {};
    return {.hertz = hertz, .share = hertz * (1 - *busy) / counted, .busy_at_most = *busy};
}

IdleCycles by_samples(const CpuSlice& cpu) {
    const Busy busy = busy_of(cpu, kZ999);
    if (!busy.known || cpu.enabled.count() <= 0 || cpu.cycles_idle == 0 || busy.interval.low >= 1) return {};
    // Bursts of work are what is lost first.
    const double share = idle_share(cpu, kZ999, cpu.cycles_lost).low;
    const double counted = counted_per_second(cpu);
    const double hertz = counted * share / (1 - busy.interval.low);
    const double working = counted * (1 - share) / std::max(1e-9, busy.interval.low);  // hertz, at most
    if (hertz < kRunsHertz || hertz < kCountsInIdle * working) return {};
    return {.hertz = hertz, .share = share, .busy_at_most = busy.interval.high, .by_samples = true};
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

IdleCycles idle_cycles(const CpuSlice& cpu) {
    if (!cpu.cycles_recorded) return {};
    return std::max(beyond_what_work_makes(cpu), by_samples(cpu),
                    [](const IdleCycles& a, const IdleCycles& b) { return a.hertz < b.hertz; });
}

double idle_cycles_hertz(const CpuSlice& cpu) { return idle_cycles(cpu).hertz; }

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
    const double in_idle = counted * cycles_idle_share(cpu);
    if (counted - in_idle > kFastestHertz * busy.interval.high) return 0;
    const Interval idle = idle_share(cpu, kZ95);
    if (cpu.cycles_idle > 0 && 1 - idle.low > kVague * (1 - idle.high)) return 0;
    if (is_explained(cpu) || busy.interval.low >= kFull) return hertz;
    const bool shared = cpu.cycles_lost > 0 || cpu.cycles_scaled;
    if (cpu.cycles_samples >= kTelling && !shared) return 0;
    const bool counts_in_idle = idle_hertz > 0 && counted >= idle_hertz / 2;
    return counts_in_idle && in_idle < idle_hertz * (1 - busy.ratio) / 2 ? 0 : hertz;
}

}  // namespace perfvigil::analyzer
