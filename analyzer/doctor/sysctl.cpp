// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/doctor/sysctl.hpp"

#include <fcntl.h>

#include <algorithm>
#include <span>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer::doctor {

std::vector<SysctlChange> sysctl_changes(const Facts& facts) {
    std::vector<SysctlChange> changes;
    if (facts.paranoid.value_or(0) > 2) {
        changes.push_back({"kernel.perf_event_paranoid", *facts.paranoid, 2,
                           "above 2, CAP_PERFMON is not enough to record: the daemon would need CAP_SYS_ADMIN",
                           "every user may again profile the user-mode part of their own programs"});
    }
    if (facts.kptr_restrict.value_or(0) > 1) {
        changes.push_back({"kernel.kptr_restrict", *facts.kptr_restrict, 1,
                           "at 2 nobody sees the kernel's addresses, so its functions have no names",
                           "processes with CAP_SYSLOG see kernel addresses; others still do not"});
    }
    // The kernel's own default is 100000.
    const auto rate = static_cast<std::int64_t>(std::max(facts.frequency, 1000U));
    if (facts.max_sample_rate && *facts.max_sample_rate < static_cast<std::int64_t>(facts.frequency)) {
        changes.push_back({"kernel.perf_event_max_sample_rate", *facts.max_sample_rate, rate,
                           "the configured frequency is higher; the kernel lowered the limit when interrupts took long",
                           "every program that may sample can take that many samples per second"});
    }
    return changes;
}

Result<void> set_sysctl(const std::string& proc_sys, const SysctlChange& change) {
    std::string path = change.name;
    std::ranges::replace(path, '.', '/');
    path.insert(0, proc_sys + "/");
    auto fd = open_file(path, O_WRONLY | O_CLOEXEC);
    if (!fd) return fail(std::move(fd.error()).at("run as root"));
    const std::string text = std::to_string(change.wanted) + "\n";
    return write_all(fd->get(), std::as_bytes(std::span(text)));
}

}  // namespace perfvigil::analyzer::doctor
