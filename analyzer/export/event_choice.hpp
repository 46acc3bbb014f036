// SPDX-License-Identifier: GPL-2.0-or-later
// Which event an export shows. Events are never added together, so most formats take one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct EventChoice {
    std::uint32_t event = 0;
    std::vector<std::string> others{};  // events with samples that were not chosen
};

// The event of that name; without one the first with samples that are not idle, else the first with samples.
[[nodiscard]] Result<EventChoice> choose_event(const Profile& profile, const std::optional<std::string>& name);

// What the event's samples (idle ones as asked for) come to, in words: "cpu-clock: 12.3 s, 1230 samples"; of a filtered
// profile also the share that is left and what it was filtered by.
[[nodiscard]] std::string event_text(const Profile& profile, std::uint32_t event, IdleRows idle);

}  // namespace perfvigil::analyzer
