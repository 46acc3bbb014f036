// SPDX-License-Identifier: GPL-2.0-or-later
// recording.cpus against the CPUs that this host has.
#pragma once

#include <string_view>
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

// Without hardware events where some CPU is tickless: the kernel gives all CPUs their tick back for an event that is
// sampled by frequency (account_freq_event_nohz in kernel/events/core.c), recorded there or not. A cpu-clock's
// frequency becomes a period and leaves the tick off. What would leave nothing stays as it is.
[[nodiscard]] std::vector<collector::EventSpec> events_that_keep_ticks_off(std::vector<collector::EventSpec> events,
                                                                           const HostCpus& host);

}  // namespace perfvigil::daemon
