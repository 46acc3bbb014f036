// SPDX-License-Identifier: GPL-2.0-or-later
// What the threads tell each other and the outside: each value is written by one of them and read by any.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "base/time.hpp"
#include "daemon/capture_use.hpp"
#include "daemon/degraded_set.hpp"
#include "daemon/live_feed.hpp"
#include "daemon/metrics_shelf.hpp"
#include "daemon/published.hpp"
#include "daemon/status.hpp"

namespace perfvigil::daemon {

struct Board {
    explicit Board(Nanoseconds slice_length) : metrics(slice_length) {}

    std::atomic<RunState> state{RunState::kStarting};
    std::atomic<MonotonicTime::rep> sampler_beat{0};  // CLOCK_MONOTONIC, 0: not yet
    std::atomic<MonotonicTime::rep> analyst_beat{0};
    std::atomic<std::uint64_t> slices{0};  // analyzed
    std::atomic<pid_t> symbol_child{0};    // analyst; 0: none is running
    MetricsShelf metrics;                  // analyst
    Published<RecordingStatus> recording;  // analyst
    DegradedSet degraded;
    CaptureUse captures;  // of captures on demand; their threads
    LiveFeed live;        // analyst

    [[nodiscard]] Pulse pulse() const {
        return {.state = state.load(),
                .sampler_beat = MonotonicTime(Nanoseconds(sampler_beat.load())),
                .analyst_beat = MonotonicTime(Nanoseconds(analyst_beat.load())),
                .slices = slices.load()};
    }
};

}  // namespace perfvigil::daemon
