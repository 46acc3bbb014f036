// SPDX-License-Identifier: GPL-2.0-or-later
// The cgroups that exist now, as PERF_SAMPLE_CGROUP numbers them. The kernel takes the cgroup of the perf_event
// controller (kernel/events/core.c, perf_prepare_sample): on hosts with cgroup v1 that is the perf_event hierarchy
// where it is mounted, else the unified one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace perfvigil::collector {

struct CgroupMount {
    std::string mount_point;
    std::string root;  // what of the hierarchy is mounted there; "/" outside containers
};

// From the text of /proc/self/mountinfo: the hierarchy of `controller`; nullopt where none that suits is mounted.
[[nodiscard]] std::optional<CgroupMount> find_cgroup_mount(std::string_view mountinfo,
                                                           std::string_view controller = "perf_event");

// Calls `visit` with the id (the inode of its folder) and the path in the hierarchy ("/", "/system.slice/x.service") of
// each cgroup, parents first, at most `limit`. Returns how many were visited.
std::size_t read_cgroups(const CgroupMount& mount, std::size_t limit,
                         const std::function<void(CgroupId, std::string_view path)>& visit);

}  // namespace perfvigil::collector
