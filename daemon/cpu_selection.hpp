// SPDX-License-Identifier: GPL-2.0-or-later
// recording.cpus against the CPUs that this host has.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "config/options.hpp"

namespace perfvigil::daemon {

// CPU lists as the kernel writes them; empty where it has none.
struct HostCpus {
    std::vector<CpuId> online;
    std::vector<CpuId> isolated;  // isolcpus=
    std::vector<CpuId> nohz_full;
};
[[nodiscard]] Result<HostCpus> read_host_cpus();

// Ascending, never empty. kInvalid: nothing is left to record.
[[nodiscard]] Result<std::vector<CpuId>> select_cpus(const config::CpuSelection& selection, const HostCpus& host);

// The same for a recording that follows CPUs as they come and go: which ones it is to record, there or not.
void follow_cpus(const config::CpuSelection& selection, const HostCpus& host, collector::RecordingOptions& recording);

}  // namespace perfvigil::daemon
