// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture will cost at most, before it starts: idle CPUs and waiting threads are not sampled on most kernels.
//
//   samples/s = frequency × events × (CPUs, or the threads that can run at a time)
//   kernel    = samples/s × cost of one (collector/sample_cost.hpp; copying stacks comes on top)
//   own       = samples/s × what reading, ordering, counting, compressing one takes here; unwinding comes on top
//   names     = what giving names takes once, at the end
#pragma once

#include <cstddef>
#include <string>

#include "base/time.hpp"
#include "collector/recording_options.hpp"

namespace perfvigil::daemon {

struct CaptureCost {
    double samples_per_second = 0;
    double kernel = 0;  // share of the host's CPU time
    double own = 0;     // …
    double names = 0;   // of its duration's CPU time; it comes after that

    // While it records: what the budget is about.
    [[nodiscard]] double all() const { return kernel + own; }
    // What it will have cost in the end.
    [[nodiscard]] double in_the_end() const { return all() + names; }
};

struct CaptureScope {
    std::size_t host_cpus = 1;
    std::size_t recorded_cpus = 1;
    std::size_t threads = 0;  // of the processes; 0: whole CPUs
    bool has_pmu = true;      // false: hardware events are left out where there are others
    Nanoseconds duration = std::chrono::seconds(10);
};

[[nodiscard]] CaptureCost predict_cost(const collector::RecordingOptions& recording, const CaptureScope& scope,
                                       Nanoseconds sample_cost);

// "up to 1998 samples/s of 12.3 us in the kernel and 4.0 us here: 1.63 % of the host's CPU time, 3.63 % with the 0.4 s
// that names take at its end"
[[nodiscard]] std::string cost_text(const CaptureCost& cost, std::size_t host_cpus);

}  // namespace perfvigil::daemon
