// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel counts of waiting, which no sample shows: tasks that waited for a CPU, units that their own CPU limit
// stopped. Looked at once a slice, for the metrics; summed over a window, for its profile. The looks come when the
// analyst takes a slice, so a window's sums may be ahead of its samples by as much as the analyst lags.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/time.hpp"
#include "collector/cgroup_throttling.hpp"
#include "collector/run_delays.hpp"
#include "daemon/metrics.hpp"

namespace perfvigil::daemon {

// Thread: the analyst.
class Waits {
public:
    // Where cgroups with CPU limits are, and the path of /proc/schedstat; without them nothing is known.
    Waits(std::optional<collector::CgroupMount> cpu_controller, std::string schedstat);
    // Of this host.
    [[nodiscard]] static Waits of_host();
    // Of another one: a replay.
    [[nodiscard]] static Waits unknown() { return {std::nullopt, ""}; }

    void look(MonotonicTime now);

    // Between the last two looks.
    [[nodiscard]] const std::vector<ThrottledUnit>& throttled_units() const { return units_; }
    // Since the first look, by ascending CPU.
    [[nodiscard]] std::vector<collector::RunDelay> run_delays() const;

    // Gives the sums since the call before to the profile: run delays of its CPUs, and a note for each unit that was
    // stopped in a twentieth of the periods in which it ran.
    void close_window(analyzer::Profile& profile);

private:
    struct Unit {
        std::uint64_t periods = 0;
        std::uint64_t throttled_periods = 0;
        Nanoseconds throttled{};
    };
    collector::CgroupThrottling throttling_;
    collector::RunDelays delays_;
    std::vector<ThrottledUnit> units_;
    std::map<std::string, Unit> window_units_;
    std::map<CpuId, Nanoseconds> window_delays_;
    std::map<CpuId, Nanoseconds> all_delays_;
};

}  // namespace perfvigil::daemon
