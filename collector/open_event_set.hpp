// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a generation of events on all CPUs, with the steps back that only show when everything is opened: file limits,
// ring memory, threads that end meanwhile, CPUs that go offline.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "collector/degraded.hpp"
#include "collector/event_set.hpp"

namespace perfvigil::collector {

// Adds `entry`, or replaces the one with its reason: a condition is listed once, as it is now.
void note_degraded(std::vector<Degraded>& list, Degraded entry);
// The same for what is looked at again and again: nullopt takes the reason away.
void set_degraded(std::vector<Degraded>& list, std::string_view reason, std::optional<Degraded> now);

enum class RingFallback : std::uint8_t {
    kSmaller,  // rings are halved until the kernel grants them
    kNone,     // a refusal is an error
};

struct OpenRequest {
    EventKernel& kernel;
    EventTable& table;
    const RecordingOptions& options;
    RecordingPlan plan;
    const std::vector<EventIndex>& indices;
    std::vector<CpuId> cpus;
    std::uint32_t generation = 0;
    RingFallback fallback = RingFallback::kNone;
};

// Every CPU of the request that is online, disabled. On failure nothing stays open.
[[nodiscard]] Result<std::unique_ptr<EventSet>> open_event_set(OpenRequest request, std::vector<Degraded>& degraded);

// What is missing of the recording as it stands: events on CPUs that are recorded …
inline constexpr std::string_view kEventMissing = "event_missing";
[[nodiscard]] std::optional<Degraded> missing_events(const EventSet& set);
// … and CPUs that were asked for.
inline constexpr std::string_view kCpuOffline = "cpu_offline";
[[nodiscard]] std::optional<Degraded> offline_cpus(const std::vector<CpuId>& wanted, const std::vector<CpuId>& online);

}  // namespace perfvigil::collector
