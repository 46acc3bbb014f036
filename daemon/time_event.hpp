// SPDX-License-Identifier: GPL-2.0-or-later
// The event whose samples tell where time went: the first cpu-clock, else the first clock of any kind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/event_table.hpp"

namespace perfvigil::daemon {

// Its EventIndex; nullopt: no clock is recorded.
[[nodiscard]] inline std::optional<std::uint32_t> time_event_of(const std::vector<collector::EventInfo>& events) {
    std::optional<std::uint32_t> any_clock;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        if (events[i].role != collector::EventRole::kSampling) continue;
        if (events[i].attr.is_cpu_clock()) return i;
        if (events[i].attr.is_clock() && !any_clock) any_clock = i;
    }
    return any_clock;
}

}  // namespace perfvigil::daemon
