// SPDX-License-Identifier: GPL-2.0-or-later
// Which cgroups were kept from running by their own CPU limit (CPUQuota=, cpu.max), and for how long: the kernel counts
// it per cgroup and no sample shows it. Both hierarchies: cgroup v2's cpu.max and cpu.stat, v1's cpu.cfs_quota_us.
// Source: Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/time.hpp"
#include "collector/cgroup_snapshot.hpp"
#include "collector/waits.hpp"

namespace perfvigil::collector {

struct ThrottleCounters {
    std::uint64_t periods = 0;
    std::uint64_t throttled_periods = 0;
    Nanoseconds throttled{};
};
// nullopt: not the text of a cpu.stat with a limit's counters.
[[nodiscard]] std::optional<ThrottleCounters> parse_cpu_stat(std::string_view text);

class CgroupThrottling {
public:
    // Nothing is ever throttled where no cpu controller is mounted.
    explicit CgroupThrottling(std::optional<CgroupMount> mount) : mount_(std::move(mount)) {}

    // Those that ran in a period of their limit since the last call. Reads one file for each cgroup that has a limit;
    // looks for such cgroups among at most 8192, every half minute per thousand. What was counted before the first call
    // is left out.
    [[nodiscard]] std::vector<CgroupThrottled> read(MonotonicTime now);

private:
    struct Limited {
        std::string file;
        ThrottleCounters last;
        bool seen = false;
    };
    void look_for_limits();

    std::optional<CgroupMount> mount_;
    boost::unordered_flat_map<std::string, Limited> limited_;  // by path
    std::optional<MonotonicTime> looked_;
    Nanoseconds next_look_{};  // after the last one
};

}  // namespace perfvigil::collector
