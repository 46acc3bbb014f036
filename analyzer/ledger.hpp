// SPDX-License-Identifier: GPL-2.0-or-later
// How a CPU's time divides, and how sure we are. DESIGN "Numbers that must be right" is the specification; these are
// its formulas, pure functions of a CpuSlice.
#pragma once

#include <cstdint>

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
};
[[nodiscard]] CyclesLedger cycles_ledger(const CpuSlice& cpu);

// Of the CPU's cycles, by the weight of their samples, the part that was counted in idle: what the idle loop costs
// itself, and all of idle where the counter does not stop in it.
[[nodiscard]] double cycles_idle_share(const CpuSlice& cpu);

// Hertz: the cycles outside idle over busy time; absent (0) while the lower end of busy is under 0.05 or cycles were
// not recorded. What may be shown of it says idle_cycles.hpp.
[[nodiscard]] double effective_hertz(const CpuSlice& cpu);

// Adds `more` to `sum` (same CPU): how slices become a window. A fresh CpuSlice counts for nothing, so it can be the
// start of a sum; /proc/stat's split stays known only while every part knows it.
void accumulate(CpuSlice& sum, const CpuSlice& more);

}  // namespace perfvigil::analyzer
