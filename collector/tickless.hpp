// SPDX-License-Identifier: GPL-2.0-or-later
// CPUs that run without a tick (nohz_full=), and what may be sampled without turning it on again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collector/degraded.hpp"
#include "collector/recording_options.hpp"

namespace perfvigil::collector {

// As the kernel lists them, "2-7"; empty where every CPU has its tick. `root` stands before /sys (tests).
[[nodiscard]] std::string tickless_cpus(const std::string& root = "");

// Without hardware events where some CPU is tickless: the kernel gives all CPUs their tick back for an event that is
// sampled by frequency (account_freq_event_nohz in kernel/events/core.c), recorded there or not. A cpu-clock's
// frequency becomes a period and leaves the tick off. What would leave nothing stays as it is.
[[nodiscard]] std::vector<EventSpec> events_that_keep_ticks_off(std::vector<EventSpec> events,
                                                                std::string_view tickless);

// Which of `asked` are missing for that.
[[nodiscard]] Degraded ticks_kept_off(const std::vector<EventSpec>& asked, std::string_view tickless);

}  // namespace perfvigil::collector
