// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/status.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/text.hpp"
#include "base/time_text.hpp"
#include "daemon/degraded_json.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
namespace field = protocol::field;

// A sampler that has not looked at its rings for this long is stuck; rings last for about as long at 99 Hz.
constexpr Nanoseconds kSamplerPatience = std::chrono::seconds(10);
// Reading symbols of a storm of new programs may take a while.
constexpr Nanoseconds kAnalystPatience = std::chrono::seconds(60);

json::array events_of(const RecordingStatus& recording) {
    json::array events;
    for (const auto& [name, hertz] : recording.events) {
        events.push_back(json::object{{field::kName, escape(name)}, {field::kFrequency, hertz}});
    }
    return events;
}

}  // namespace

std::string_view state_name(RunState state) {
    switch (state) {
        case RunState::kStarting: return "starting";
        case RunState::kRecording: return "recording";
        case RunState::kReplaying: return "replaying";
        case RunState::kEnded: return "ended";
        case RunState::kStopping: return "stopping";
    }
    return "";
}

std::string status_json(const Status& s) {
    const auto& r = s.recording;
    json::array cpus;
    for (const auto cpu : r.cpus) cpus.push_back(cpu.value);
    json::object counters;
    for (const auto& [name, value] : r.counters) counters[name] = value;

    json::object out;
    out[field::kVersion] = PERFVIGIL_VERSION;
    out[field::kPid] = ::getpid();
    out[field::kState] = state_name(s.state);
    out[field::kReady] = s.not_ready.empty();
    if (!s.not_ready.empty()) out[field::kNotReadyReason] = s.not_ready;
    out[field::kStarted] = iso_time(s.started);
    out[field::kUptimeSeconds] = to_seconds(s.uptime);
    out[field::kConfigFile] = escape(s.config_file);
    out[field::kSource] = escape(s.source);
    out[field::kHost] = escape(s.hostname);
    out[field::kEvents] = events_of(r);
    out[field::kMaxStack] = r.max_stack;
    out[field::kCpus] = std::move(cpus);
    out[field::kRingBytes] = r.ring_bytes;
    out[field::kSliceSeconds] = to_seconds(s.slice);
    out[field::kWindowSeconds] = to_seconds(s.window);
    out[field::kSlices] = r.slices;
    if (r.last_slice_end) out[field::kLastSliceEnd] = iso_time(*r.last_slice_end);
    out[field::kCounters] = std::move(counters);
    out[field::kStore] = json::object{{field::kDirectory, escape(s.store_directory)},
                                      {field::kBytes, r.profile_bytes},
                                      {field::kBytesLimit, s.store_limit},
                                      {field::kCount, s.store_windows}};
    out[field::kCaptures] =
        json::object{{field::kEnabled, s.captures_enabled}, {field::kDirectory, escape(s.captures_directory)},
                     {field::kBytes, r.capture_bytes},      {field::kBytesLimit, s.captures_limit},
                     {field::kCount, r.capture_files},      {field::kFile, escape(r.capture_file)}};
    out[field::kDegraded] = degraded_json(s.degraded);
    return json::serialize(out) + "\n";
}

std::string why_unhealthy(const Pulse& pulse, MonotonicTime now) {
    // Before the first beat nothing can be late, and an ended replay has no sampler.
    const auto late = [&](MonotonicTime beat, Nanoseconds patience) {
        return beat != MonotonicTime{} && now - beat > patience;
    };
    const bool sampling = pulse.state == RunState::kRecording || pulse.state == RunState::kReplaying;
    if (sampling && late(pulse.sampler_beat, kSamplerPatience)) {
        return fmt::format("the sampler has not run for {:.0f} s", to_seconds(now - pulse.sampler_beat));
    }
    if (late(pulse.analyst_beat, kAnalystPatience)) {
        return fmt::format("the analyst has not run for {:.0f} s", to_seconds(now - pulse.analyst_beat));
    }
    return {};
}

std::string why_not_ready(const Pulse& pulse, MonotonicTime now) {
    if (pulse.state == RunState::kStarting) return "starting";
    if (pulse.state == RunState::kStopping) return "stopping";
    if (pulse.slices == 0) return "no slice is complete yet";
    return why_unhealthy(pulse, now);
}

}  // namespace perfvigil::daemon
