// SPDX-License-Identifier: GPL-2.0-or-later
// A capture on demand as it is asked for: the parameters of POST /v1/captures as plain values. Reads text, judges each
// value; whether there is such a process or unit is found out later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/sample_selection.hpp"
#include "base/error.hpp"
#include "collector/recording_options.hpp"
#include "daemon/api_parts.hpp"

namespace perfvigil::daemon {

inline constexpr std::size_t kLongestLabel = 80;  // bytes

struct CaptureRequest {
    enum class Format : std::uint8_t { kText, kJson, kProfile, kStream };

    Nanoseconds duration = std::chrono::seconds(10);
    std::uint32_t frequency = 999;
    std::uint16_t max_stack = 127;
    // At most one of pids and cgroup; neither: the whole host, or `cpus` of it.
    std::vector<Pid> pids{};
    std::optional<analyzer::CgroupSelection> cgroup{};
    std::vector<CpuId> cpus{};
    std::vector<collector::EventSpec> events = collector::RecordingOptions{}.events;
    collector::CallChains call_chains = collector::CallChains::kFramePointers;
    std::uint32_t stack_dump_bytes = collector::RecordingOptions{}.stack_dump_bytes;
    std::string label{};
    bool force = false;
    bool raw = false;
    Format format = Format::kText;
};

// `longest`: that a duration may be.
[[nodiscard]] Result<CaptureRequest> parse_capture_request(const api::Parameters& parameters, Nanoseconds longest);

// What is captured, in the words of the command line: "-a", "-p 7,8", "--unit nginx.service", "--cpu 0-3".
[[nodiscard]] std::string target_text(const CaptureRequest& request);
// "capture -p 7 -F 999 -d 10s --label 'slow login'"
[[nodiscard]] std::string command_text(const CaptureRequest& request);

// The recording it takes; `rings_total`: bytes left for its rings, on `cpus` CPUs.
[[nodiscard]] collector::RecordingOptions recording_of(const CaptureRequest& request, std::uint64_t rings_total,
                                                       std::size_t cpus);

}  // namespace perfvigil::daemon
