// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel's own accounting of a CPU says beside our samples: how busy it was by /proc/stat, whether it was
// idle while its clock was silent, and how long tasks waited for it. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/ledger.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/slice.hpp"

namespace perfvigil::analyzer {

// Of the time that an event was throttled, what may have been anything but idle. An idle CPU has no ticks, and the
// kernel counts a clock's samples by tick: on one that idles for long it is throttled until the CPU wakes, at any
// frequency (kernel/events/core.c, __perf_event_account_interrupt). Where /proc/stat is not known, all of it.
[[nodiscard]] Nanoseconds throttled_in_work(const CpuSlice& cpu, Nanoseconds throttled);
// The same of the clock.
[[nodiscard]] Nanoseconds silent_time(const CpuSlice& cpu);

// Share of the CPU's time in which it was neither idle nor stolen, by /proc/stat; absent where that was not read, or
// where its columns and the recorded time differ by more than its grain (a CPU that came or went meanwhile).
[[nodiscard]] std::optional<double> busy_by_proc_stat(const CpuSlice& cpu);

// How far that lies outside the interval of our busy (99.9 %), widened by the grain of /proc/stat; 0: they agree. With
// its sign: positive where /proc/stat says more. Absent where either is.
[[nodiscard]] std::optional<double> busy_disagreement(const CpuSlice& cpu);

// How long tasks waited for CPUs, and how long they ran on them; nanoseconds.
struct Waiting {
    double waited = 0;
    double ran = 0;
    double time = 0;  // of the CPUs that were recorded

    // Of the time in which tasks wanted a CPU, the part that they waited for it; 0 where nothing is known of it.
    [[nodiscard]] double share() const { return waited > 0 ? waited / (waited + ran) : 0; }
};
[[nodiscard]] Waiting waiting_of(const std::vector<ProfileCpu>& cpus);

}  // namespace perfvigil::analyzer
