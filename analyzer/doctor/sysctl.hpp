// SPDX-License-Identifier: GPL-2.0-or-later
// Kernel settings that stand between perfvigil and what it wants to see, with what changing each would open to others.
// Proposes; applies only what it is given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/doctor/facts.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer::doctor {

struct SysctlChange {
    std::string name;  // "kernel.perf_event_paranoid"
    std::int64_t now = 0;
    std::int64_t wanted = 0;
    std::string why;
    std::string opens;
};

[[nodiscard]] std::vector<SysctlChange> sysctl_changes(const Facts& facts);

// Until the next boot. `proc_sys`: "/proc/sys".
[[nodiscard]] Result<void> set_sysctl(const std::string& proc_sys, const SysctlChange& change);

}  // namespace perfvigil::analyzer::doctor
