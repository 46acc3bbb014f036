// SPDX-License-Identifier: GPL-2.0-or-later
// How long tasks that could run waited for each CPU: what a profiler of running code cannot see. From /proc/schedstat,
// which kernels with CONFIG_SCHEDSTATS have. Source: Documentation/scheduler/sched-stats.rst, versions 15 to 17.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/waits.hpp"

namespace perfvigil::collector {

// Since boot, in the file's order; lines that cannot be read are left out.
[[nodiscard]] std::vector<RunDelay> parse_run_delays(std::string_view schedstat);

// What was added between two looks.
class RunDelays {
public:
    // An empty path: nothing is known.
    explicit RunDelays(std::string path = "/proc/schedstat") : path_(std::move(path)) {}

    // Since the call before; a CPU's first row is what later ones are compared with. Empty where the kernel does not
    // say.
    [[nodiscard]] std::vector<RunDelay> since_last();

private:
    std::string path_;
    boost::unordered_flat_map<CpuId, Nanoseconds> last_;
};

}  // namespace perfvigil::collector
