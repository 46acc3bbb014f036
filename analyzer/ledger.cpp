// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/ledger.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/kernel_accounts.hpp"

namespace perfvigil::analyzer {
namespace {

// Below this the frequency would be a quotient of two small numbers, mostly error.
constexpr double kBusyForFrequency = 0.05;

// What the work that no sample or no count shows may make the frequency wrong by, from the least to the most.
constexpr double kFrequencyRange = 0.05;

constexpr double kLongestTick = 0.01;  // seconds: CONFIG_HZ is 100 at least

bool is_clocked(const CpuSlice& cpu) { return cpu.clock_recorded && cpu.ticks_due > 0; }

double busy_ticks(const CpuSlice& cpu) {
    return static_cast<double>(cpu.samples - std::min(cpu.samples, cpu.idle_samples));
}

// Nobody knows what ran while the clock was throttled, unless it was idle: its ticks were due all the same and are as
// good as lost. A part of a period may have held a whole one.
double unseen_ticks(const CpuSlice& cpu, Nanoseconds silent) {
    const double share =
        cpu.enabled.count() > 0 ? std::clamp(to_seconds(silent) / to_seconds(cpu.enabled), 0.0, 1.0) : 0;
    return std::min(cpu.ticks_due, static_cast<double>(cpu.lost) + std::ceil(cpu.ticks_due * share));
}

bool is_fresh(const CpuSlice& cpu) {
    return !cpu.clock_recorded && !cpu.cycles_recorded && !cpu.times_known && cpu.enabled.count() == 0 &&
           cpu.samples == 0 && cpu.cycles_samples == 0;
}

void accumulate(collector::CpuTimes& sum, const collector::CpuTimes& more) {
    sum.cpu = more.cpu;
    sum.user += more.user;
    sum.system += more.system;
    sum.idle += more.idle;
    sum.iowait += more.iowait;
    sum.irq += more.irq;
    sum.softirq += more.softirq;
    sum.steal += more.steal;
}

}  // namespace

Interval wilson(double k, double n, double z) {
    if (!(n > 0)) return {0, 1};
    const double share = std::clamp(k / n, 0.0, 1.0);
    const double z2 = z * z / n;
    const double middle = share + z2 / 2;
    const double spread = z * std::sqrt(share * (1 - share) / n + z2 / (4 * n));
    const double scale = 1 + z2;
    // At the ends of the range rounding must not cut the very value that was seen.
    return {share == 0 ? 0 : std::clamp((middle - spread) / scale, 0.0, share),
            share == 1 ? 1 : std::clamp((middle + spread) / scale, share, 1.0)};
}

Busy busy_of(const CpuSlice& cpu, double z) {
    Busy busy;
    if (!is_clocked(cpu)) return busy;
    const double n = cpu.ticks_due;
    const auto written = static_cast<double>(cpu.samples);
    const double lost = unseen_ticks(cpu, silent_time(cpu));
    const double k = busy_ticks(cpu);
    busy.known = true;
    busy.coverage = written / n;
    busy.interval = {wilson(std::min(k, n), n, z).low, wilson(std::min(n, k + lost), n, z).high};
    if (cpu.samples > 0) {
        // As if what is not known had been like the rest; but no busier than it can have been.
        busy.ratio = std::min(busy.interval.high, k / n * (written + unseen_ticks(cpu, cpu.throttled)) / written);
    } else if (lost > 0) {
        busy.ratio = (busy.interval.low + busy.interval.high) / 2;
    }
    return busy;
}

ClockLedger& ClockLedger::operator+=(const ClockLedger& other) {
    total += other.total;
    busy += other.busy;
    idle += other.idle;
    irq_in_idle += other.irq_in_idle;
    lost += other.lost;
    throttled += other.throttled;
    idle_unsampled += other.idle_unsampled;
    stolen += other.stolen;
    unexplained += other.unexplained;
    return *this;
}

ClockLedger clock_ledger(const CpuSlice& cpu) {
    ClockLedger ledger;
    if (!cpu.clock_recorded) return ledger;
    const auto time_in = [&](Mode mode) { return cpu.mode_time[index_of(mode)].count(); };
    ledger.total = cpu.enabled.count();
    ledger.irq_in_idle = cpu.irq_in_idle.count();
    ledger.busy = time_in(Mode::kUser) + time_in(Mode::kKernel) + time_in(Mode::kSoftirq) - ledger.irq_in_idle;
    ledger.idle = time_in(Mode::kIdle);
    ledger.lost = cpu.lost_time.count();
    ledger.throttled = cpu.throttled.count();
    std::int64_t rest = ledger.total - ledger.busy - ledger.idle - ledger.irq_in_idle - ledger.lost - ledger.throttled;
    if (cpu.times_known && rest > 0) {
        const auto idle_by_kernel = static_cast<std::int64_t>(cpu.times.idle + cpu.times.iowait);
        ledger.idle_unsampled = std::min(rest, std::max<std::int64_t>(0, idle_by_kernel - ledger.idle));
        rest -= ledger.idle_unsampled;
        ledger.stolen = std::min(rest, static_cast<std::int64_t>(cpu.times.steal));
        rest -= ledger.stolen;
    }
    ledger.unexplained = rest;
    return ledger;
}

CyclesLedger cycles_ledger(const CpuSlice& cpu) {
    return {.counted = cpu.cycles_counted,
            .sampled = cpu.cycles_sampled,
            .in_idle = cpu.cycles_idle,
            .unattributed = static_cast<std::int64_t>(cpu.cycles_counted - cpu.cycles_sampled),
            .scaled = cpu.cycles_scaled,
            .throttled = cpu.cycles_throttled};
}

double cycles_idle_share(const CpuSlice& cpu) {
    if (cpu.cycles_idle == 0) return 0;
    return std::min(1.0, static_cast<double>(cpu.cycles_idle) / static_cast<double>(cpu.cycles_sampled));
}

std::string_view no_frequency_name(NoFrequency why) {
    switch (why) {
        case NoFrequency::kNone: return "";
        case NoFrequency::kNotRecorded: return "not_recorded";
        case NoFrequency::kNearlyIdle: return "nearly_idle";
        case NoFrequency::kCounterStood: return "counter_stood";
        case NoFrequency::kClockSilent: return "clock_silent";
        case NoFrequency::kBusyDisputed: return "busy_disputed";
    }
    return "";
}

// Seconds of work: between those that samples show and those that may have been as well. While the counter stood still
// the CPU may have worked or idled. Where records were lost, one of them may have been of its end, so that how long it
// stood is an upper limit; or of its beginning, which then lasted until the next tick.
Frequency frequency_of(const CpuSlice& cpu) {
    using enum NoFrequency;
    if (!cpu.cycles_recorded) return {.why = kNotRecorded};
    const Busy busy = busy_of(cpu);
    if (!busy.known || busy.interval.low < kBusyForFrequency || cpu.enabled.count() <= 0) return {.why = kNearlyIdle};
    const double time = to_seconds(cpu.enabled);
    const auto work = [&](double ticks) { return time * std::min(1.0, ticks / cpu.ticks_due); };
    const Interval worked{work(busy_ticks(cpu)), work(busy_ticks(cpu) + unseen_ticks(cpu, silent_time(cpu)))};
    const double stood = to_seconds(throttled_in_work(cpu, cpu.cycles_throttled));
    const double absent = to_seconds(cpu.cycles_absent);
    // Scaling made more of what a shared counter missed.
    if (cpu.cycles_scaled && stood > 0) return {.why = kCounterStood};
    const double surely_stood = cpu.cycles_lost == 0 ? stood : 0;
    const double unsaid = kLongestTick * static_cast<double>(cpu.cycles_lost);
    const Interval counted{std::max(0.0, worked.low - stood - unsaid - absent),
                           std::min(worked.high, time - surely_stood - absent)};
    // A damaged profile may claim more of one than of the whole.
    const bool possible = counted.high > 0 && counted.low <= counted.high;
    if (!possible || counted.high - counted.low > kFrequencyRange * counted.high) {
        return {.why = stood + unsaid + absent > worked.high - worked.low ? kCounterStood : kClockSilent};
    }
    if (busy_disagreement(cpu).value_or(0) != 0) return {.why = kBusyDisputed};
    const double working = static_cast<double>(cpu.cycles_counted) * (1 - cycles_idle_share(cpu));
    return {.hertz = working / std::clamp(busy.ratio * time, counted.low, counted.high)};
}

double effective_hertz(const CpuSlice& cpu) { return frequency_of(cpu).hertz; }

void accumulate(CpuSlice& sum, const CpuSlice& more) {
    const bool fresh = is_fresh(sum);
    sum.cpu = more.cpu;
    sum.clock_recorded |= more.clock_recorded;
    sum.time_estimated |= more.time_estimated;
    // The time of a part without cycles is none that their counter covers.
    sum.cycles_absent += more.cycles_absent;
    if (sum.cycles_recorded != more.cycles_recorded) {
        sum.cycles_absent += sum.cycles_recorded ? more.enabled : sum.enabled;
    }
    sum.enabled += more.enabled;
    sum.ticks_due += more.ticks_due;
    sum.samples += more.samples;
    sum.idle_samples += more.idle_samples;
    for (std::size_t mode = 0; mode < kModes; ++mode) sum.mode_time[mode] += more.mode_time[mode];
    sum.irq_in_idle += more.irq_in_idle;
    sum.lost += more.lost;
    sum.lost_time += more.lost_time;
    sum.throttled += more.throttled;
    sum.cycles_recorded |= more.cycles_recorded;
    sum.cycles_counted += more.cycles_counted;
    sum.cycles_scaled |= more.cycles_scaled;
    sum.cycles_sampled += more.cycles_sampled;
    sum.cycles_samples += more.cycles_samples;
    sum.cycles_idle += more.cycles_idle;
    sum.cycles_lost += more.cycles_lost;
    sum.cycles_throttled += more.cycles_throttled;
    sum.times_known = more.times_known && (fresh || sum.times_known);
    accumulate(sum.times, more.times);
}

}  // namespace perfvigil::analyzer
