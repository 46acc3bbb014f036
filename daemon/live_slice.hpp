// SPDX-License-Identifier: GPL-2.0-or-later
// One slice as people look at it while it is new: busy per CPU, functions, units, ledger, own cost; the JSON of
// /v1/live (docs/http-api.md). A pure function of what the analyst has at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile/builder.hpp"
#include "analyzer/slice.hpp"
#include "collector/degraded.hpp"
#include "collector/event_table.hpp"
#include "daemon/live_feed.hpp"
#include "daemon/metrics.hpp"
#include "daemon/status.hpp"

namespace perfvigil::daemon {

struct LiveSlice {
    std::uint64_t number = 0;  // slices are counted from 1
    const analyzer::Slice& slice;
    const analyzer::SliceHotspots& hotspots;
    const std::vector<collector::EventInfo>& events;
    // Shares of the host's CPU time; absent in a replay, which costs nobody's host anything.
    struct Cost {
        double processes = 0;
        double kernel = 0;  // for taking samples
        double captures = 0;
        double budget = 0;
        bool assumed = false;  // the cost of a sample was not measured on this host
    };
    std::optional<Cost> cost{};
};

// Rows of functions and units; what is left goes into one number, so that they add up.
inline constexpr std::size_t kLiveRows = 50;

[[nodiscard]] std::string live_slice_json(const LiveSlice& live);

// What holds at the moment of the answer.
struct LiveHead {
    WallTime run{};  // the daemon's start
    RunState state = RunState::kStarting;
    Nanoseconds slice{};
    Nanoseconds window{};
    std::string hostname{};
    std::vector<collector::Degraded> degraded{};
};
[[nodiscard]] std::string live_json(const LiveHead& head, const LiveSlices& slices);

}  // namespace perfvigil::daemon
