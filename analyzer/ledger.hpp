// SPDX-License-Identifier: GPL-2.0-or-later
// How a CPU's time divides, and how sure we are. DESIGN "Numbers that must be right" is the specification; these are
// its formulas, pure functions of a CpuSlice.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/slice.hpp"

namespace perfvigil::analyzer {

struct Interval {
    double low = 0;
    double high = 0;

    friend bool operator==(const Interval&, const Interval&) = default;
};

// Wilson score interval for k successes of n (real-valued n allowed) at z standard deviations.
// n <= 0 gives [0, 1].
[[nodiscard]] Interval wilson(double k, double n, double z);
inline constexpr double kZ95 = 1.959963984540054;
inline constexpr double kZ999 = 3.290526731491895;

struct Busy {
    double ratio = 0;     // 0..1
    Interval interval;    // 95 % unless asked otherwise; lost samples widen its upper end
    double coverage = 0;  // N / n
    bool known = false;   // false: no clock event on this CPU, or no time passed

    friend bool operator==(const Busy&, const Busy&) = default;
};
// Where every sample of the stretch was lost nothing is known of what the lost ones showed: the ratio is then the
// middle of the interval.
[[nodiscard]] Busy busy_of(const CpuSlice& cpu, double z = kZ95);

// T = the sum of the others. Nanoseconds, signed.
struct ClockLedger {
    std::int64_t total = 0;  // T
    std::int64_t busy = 0;   // samples of real tasks: user, kernel, softirq
    std::int64_t idle = 0;
    std::int64_t irq_in_idle = 0;
    std::int64_t lost = 0;
    std::int64_t throttled = 0;
    std::int64_t idle_unsampled = 0;  // idle by /proc/stat that no sample shows
    std::int64_t stolen = 0;          // by /proc/stat
    std::int64_t unexplained = 0;     // what remains, signed

    ClockLedger& operator+=(const ClockLedger& other);
    friend bool operator==(const ClockLedger&, const ClockLedger&) = default;
};
// All zero where the CPU has no clock event. /proc/stat counts in ticks of 10 ms (USER_HZ), so a slice's split of the
// rest is that coarse.
[[nodiscard]] ClockLedger clock_ledger(const CpuSlice& cpu);

struct CyclesLedger {
    std::uint64_t counted = 0;
    std::uint64_t sampled = 0;
    std::uint64_t in_idle = 0;  // of the sampled ones
    std::int64_t unattributed = 0;
    bool scaled = false;
    Nanoseconds throttled{};  // in which the counter stood still: what ran then is in neither
};
[[nodiscard]] CyclesLedger cycles_ledger(const CpuSlice& cpu);

// Of the CPU's cycles, by the weight of their samples, the part that was counted in idle: what the idle loop costs
// itself, and all of idle where the counter does not stop in it.
[[nodiscard]] double cycles_idle_share(const CpuSlice& cpu);

// Why a CPU has no effective frequency.
enum class NoFrequency : std::uint8_t {
    kNone,          // it has one
    kNotRecorded,   // no cycles
    kNearlyIdle,    // the lower end of busy is under 0.05, or busy is not known
    kCounterStood,  // the kernel throttled cycles, or they were recorded for a part of the time: how much of the work
                    // the counter saw nobody knows
    kClockSilent,   // samples were lost or throttled: how busy the CPU was is known too badly
    kBusyDisputed,  // /proc/stat says otherwise (busy_disagreement)
};
// The reason's stable name in JSON ("counter_stood"); empty for kNone.
[[nodiscard]] std::string_view no_frequency_name(NoFrequency why);

struct Frequency {
    double hertz = 0;  // 0: absent
    NoFrequency why = NoFrequency::kNone;
};
// The cycles outside idle over the busy time in which they were counted. What may be shown of it says idle_cycles.hpp.
[[nodiscard]] Frequency frequency_of(const CpuSlice& cpu);
[[nodiscard]] double effective_hertz(const CpuSlice& cpu);

// Adds `more` to `sum` (same CPU): how slices become a window. A fresh CpuSlice counts for nothing, so it can be the
// start of a sum; /proc/stat's split stays known only while every part knows it.
void accumulate(CpuSlice& sum, const CpuSlice& more);

}  // namespace perfvigil::analyzer
