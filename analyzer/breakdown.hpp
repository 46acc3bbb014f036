// SPDX-License-Identifier: GPL-2.0-or-later
// One event's weight divided along one dimension. Pure functions of a Profile, shared by every report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

enum class Dimension : std::uint8_t {
    kDso,        // of the sampled instruction
    kComm,       // thread name
    kUnit,       // systemd unit; "" where a task belongs to none
    kContainer,  // short container id; ""
    kUnknown,    // why the sampled instruction has no name; named ones are left out
};

struct Share {
    std::string_view key;  // view into the profile (or a reason's name)
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};

// Heaviest first; equal weights by key.
[[nodiscard]] std::vector<Share> breakdown(const Profile& profile, std::uint32_t event, Dimension dimension,
                                           IdleRows idle);

// What shares are shares of: the event's samples with or without idle ones.
struct EventSum {
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};
[[nodiscard]] EventSum event_sum(const ProfileEvent& event, IdleRows idle);

}  // namespace perfvigil::analyzer
