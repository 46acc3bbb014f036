// SPDX-License-Identifier: GPL-2.0-or-later
// Events that were opened and then do nothing. Opening proves little: a hypervisor may offer a counter that stands
// still or never interrupts, another program may hold it, and some kernels' clocks do not tick. Each event has to show
// on each CPU, within its first seconds, that it counts and samples. Source of the cases: perf_event_open(2) (running <
// enabled), Linux 6.16 and 6.17.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/event_set.hpp"
#include "collector/event_table.hpp"

namespace perfvigil::collector {

// How long an event may be enabled without a sign of life. Even an idle CPU runs a few thousand cycles in it.
inline constexpr Nanoseconds kProofTime = std::chrono::seconds(2);

// Judged by the counters that were read last; nullopt: every event delivers wherever it was open long enough. A clock
// that counts nothing yet writes samples is alive; one that counts and writes none is on an idle CPU, maybe (an idle
// CPU of some kernels writes no samples).
inline constexpr std::string_view kEventSilent = "event_silent";
[[nodiscard]] std::optional<Degraded> silent_events(const EventSet& set, const EventTable& table);

}  // namespace perfvigil::collector
