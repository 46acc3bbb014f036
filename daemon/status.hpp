// SPDX-License-Identifier: GPL-2.0-or-later
// How the daemon is doing, as plain values, and as the JSON of /v1/status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"

namespace perfvigil::daemon {

enum class RunState : std::uint8_t { kStarting, kRecording, kReplaying, kEnded, kStopping };
[[nodiscard]] std::string_view state_name(RunState state);

// What the analyst tells after every slice.
struct RecordingStatus {
    std::vector<std::pair<std::string, std::uint32_t>> events{};  // name and hertz
    std::uint16_t max_stack = 0;
    std::vector<CpuId> cpus{};
    std::uint64_t ring_bytes = 0;
    std::uint64_t slices = 0;
    std::optional<WallTime> last_slice_end{};
    std::vector<std::pair<std::string_view, std::uint64_t>> counters{};  // names from a fixed set
    std::uint64_t profile_bytes = 0;
    std::uint64_t capture_bytes = 0;
    std::uint64_t capture_files = 0;
    std::string capture_file{};  // being written; empty
};

// What holds for the whole run, and what is asked at the moment.
struct Status {
    RunState state = RunState::kStarting;
    std::string not_ready{};  // why; empty: ready
    std::string unhealthy{};  // why; empty: healthy
    std::string config_file{};
    std::string source{};  // "kernel" or the replayed file
    std::string hostname{};
    WallTime started{};
    Nanoseconds uptime{};
    Nanoseconds slice{};
    Nanoseconds window{};
    std::string store_directory{};
    std::uint64_t store_limit = 0;
    std::uint64_t store_windows = 0;
    bool captures_enabled = false;
    std::string captures_directory{};
    std::uint64_t captures_limit = 0;
    RecordingStatus recording{};
    std::vector<collector::Degraded> degraded{};
};

[[nodiscard]] std::string status_json(const Status& status);

// What healthz and readyz judge by; written by the threads, read by io.
struct Pulse {
    RunState state = RunState::kStarting;
    MonotonicTime sampler_beat{};
    MonotonicTime analyst_beat{};
    std::uint64_t slices = 0;
};
// Why the daemon is not alive (a thread hangs), or not ready (no slice yet, stopping); empty: it is.
[[nodiscard]] std::string why_unhealthy(const Pulse& pulse, MonotonicTime now);
[[nodiscard]] std::string why_not_ready(const Pulse& pulse, MonotonicTime now);

}  // namespace perfvigil::daemon
