// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel counts of waiting, which no sample of running code shows: tasks that waited for a CPU, cgroups that
// their own CPU limit stopped. Read once a slice with the counters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace perfvigil::collector {

// How long runnable tasks waited for one CPU.
struct RunDelay {
    CpuId cpu{};
    Nanoseconds waited{};  // each task counted by itself: may exceed the time that passed

    friend bool operator==(const RunDelay&, const RunDelay&) = default;
};

struct CgroupThrottled {
    std::string path;                     // in the hierarchy
    std::uint64_t periods = 0;            // of the limit (100 ms each, usually) in which the cgroup ran
    std::uint64_t throttled_periods = 0;  // … and was stopped
    Nanoseconds throttled{};              // summed over its run queues: may exceed the time that passed

    friend bool operator==(const CgroupThrottled&, const CgroupThrottled&) = default;
};

// Both since the look before; empty where the kernel does not say.
struct Waits {
    std::vector<RunDelay> run_delays{};
    std::vector<CgroupThrottled> throttled{};  // by path

    friend bool operator==(const Waits&, const Waits&) = default;
};

}  // namespace perfvigil::collector
