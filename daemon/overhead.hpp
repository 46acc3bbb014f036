// SPDX-License-Identifier: GPL-2.0-or-later
// What the profiler itself costs: CPU time of its processes, and the kernel's for taking samples, which is charged to
// whoever was sampled and is known only as samples × the cost of one (collector/sample_cost.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/time.hpp"
#include "collector/sample_cost.hpp"
#include "daemon/metrics.hpp"

namespace perfvigil::daemon {

// User and system time of a process; zero when it is gone.
[[nodiscard]] Nanoseconds cpu_time_of(pid_t pid);

// Thread: the sampler.
class OverheadMeter {
public:
    using TimeOf = Nanoseconds (*)(pid_t);
    explicit OverheadMeter(collector::SampleCost cost, TimeOf time_of = cpu_time_of);

    // `child`: the symbol child's pid, 0 where none is running. `samples`: taken so far, lost ones included: the
    // kernel worked for those too.
    [[nodiscard]] OverheadNumbers measure(pid_t child, std::uint64_t samples);

private:
    collector::SampleCost cost_;
    TimeOf time_of_;
    pid_t child_ = 0;
    Nanoseconds child_time_{};        // of the running child
    Nanoseconds earlier_children_{};  // of those before it, as last seen
};

// Share of the host's CPU time that the profiler took between two measurements.
class CpuBudget {
public:
    struct Use {
        double processes = 0;
        double sampling = 0;
        [[nodiscard]] double all() const { return processes + sampling; }
    };
    // The share since the previous call, of `cpus` CPUs; the first call has nothing to compare with and says 0.
    // `now`: when `numbers` were measured.
    [[nodiscard]] Use use(const OverheadNumbers& numbers, std::size_t cpus, MonotonicTime now);

private:
    bool known_ = false;
    Nanoseconds processes_{};
    Nanoseconds sampling_{};
    MonotonicTime at_{};
};

}  // namespace perfvigil::daemon
