// SPDX-License-Identifier: GPL-2.0-or-later
// What a reader of a profile must be told: sentences, each about something that the data show. Causes are named only
// where they are known.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/slice.hpp"
#include "collector/event_table.hpp"

namespace perfvigil::analyzer {

// What slices say and profiles do not keep as numbers.
struct WindowFacts {
    std::uint64_t cut_frames = 0;
    std::uint64_t late_records = 0;
    std::uint64_t lost_side_band = 0;
    bool idle_by_task = false;
    std::vector<std::uint64_t> throttles;  // by event of the profile
    std::vector<Nanoseconds> throttled;    // as many
    std::vector<std::uint64_t> arrived;    // … its samples, those that a selection left out included

    void note(const Slice& slice);
    void add_throttles(std::uint32_t event, const EventTotals& totals);
    void add_arrived(std::uint32_t event, std::uint64_t count);
};

// Over this share of its samples lost an event's profile is unreliable.
inline constexpr double kUnreliableLoss = 0.01;
// Below this share of the ticks due a CPU's coverage is named.
inline constexpr double kFullCoverage = 0.95;

// Adds to the profile's warnings and to its degraded modes. `events` are those of the recording.
void add_warnings(Profile& profile, const std::vector<collector::EventInfo>& events, const WindowFacts& facts);

}  // namespace perfvigil::analyzer
