// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon and its callers agree on: where the control socket is, which paths there are, and how the fields of
// their JSON are called. docs/http-api.md tells it to people.
#pragma once

#include <string_view>

namespace perfvigil::protocol {

inline constexpr std::string_view kDefaultControlSocket = "/run/perfvigil/control.sock";
inline constexpr std::string_view kDefaultConfigFile = "/etc/perfvigil/perfvigil.yaml";

// Paths. Metrics and health are answered on every listener, the rest on the control socket only.
inline constexpr std::string_view kMetrics = "/metrics";
inline constexpr std::string_view kHealthz = "/healthz";
inline constexpr std::string_view kReadyz = "/readyz";
inline constexpr std::string_view kStatus = "/v1/status";
inline constexpr std::string_view kWindows = "/v1/windows";  // ?limit=N&kind=all, newest first; ?since=NS&until=NS
// /v1/windows/{id|latest}/report?format=text|json&top=N&width=N and /v1/windows/{id|latest}/profile
inline constexpr std::string_view kLatest = "latest";
inline constexpr std::string_view kReport = "report";
inline constexpr std::string_view kProfile = "profile";

inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";
inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kProfileType = "application/vnd.perfvigil.profile";

namespace field {
// Any answer of /v1 that is not 200.
inline constexpr std::string_view kError = "error";

// /v1/status
inline constexpr std::string_view kVersion = "version";
inline constexpr std::string_view kState = "state";  // "starting", "recording", "replaying", "ended", "stopping"
inline constexpr std::string_view kReady = "ready";
inline constexpr std::string_view kNotReadyReason = "not_ready_reason";
inline constexpr std::string_view kPid = "pid";
inline constexpr std::string_view kStarted = "started";
inline constexpr std::string_view kUptimeSeconds = "uptime_seconds";
inline constexpr std::string_view kConfigFile = "config_file";
inline constexpr std::string_view kSource = "source";  // "kernel", or the replayed file
inline constexpr std::string_view kHost = "host";
inline constexpr std::string_view kEvents = "events";
inline constexpr std::string_view kName = "name";
inline constexpr std::string_view kFrequency = "frequency_hertz";
inline constexpr std::string_view kMaxStack = "max_stack";
inline constexpr std::string_view kCpus = "cpus";  // list of numbers
inline constexpr std::string_view kRingBytes = "ring_bytes";
inline constexpr std::string_view kSliceSeconds = "slice_seconds";
inline constexpr std::string_view kWindowSeconds = "window_seconds";
inline constexpr std::string_view kSlices = "slices";
inline constexpr std::string_view kLastSliceEnd = "last_slice_end";
inline constexpr std::string_view kCounters = "counters";  // object, name → number
inline constexpr std::string_view kStore = "store";
inline constexpr std::string_view kCaptures = "captures";
inline constexpr std::string_view kDirectory = "dir";
inline constexpr std::string_view kBytes = "bytes";
inline constexpr std::string_view kBytesLimit = "bytes_limit";
inline constexpr std::string_view kCount = "count";
inline constexpr std::string_view kEnabled = "enabled";
inline constexpr std::string_view kFile = "file";  // the capture being written
inline constexpr std::string_view kDegraded = "degraded";
inline constexpr std::string_view kReason = "reason";
inline constexpr std::string_view kDetail = "detail";
inline constexpr std::string_view kRemedy = "remedy";

// /v1/windows: {"windows": [...], "total": N}
inline constexpr std::string_view kWindowList = "windows";
inline constexpr std::string_view kTotal = "total";
inline constexpr std::string_view kId = "id";
inline constexpr std::string_view kStart = "start";
inline constexpr std::string_view kEnd = "end";
inline constexpr std::string_view kDurationSeconds = "duration_seconds";
inline constexpr std::string_view kSamples = "samples";
inline constexpr std::string_view kLost = "lost";
inline constexpr std::string_view kPartial = "partial";
inline constexpr std::string_view kKind = "kind";      // "window", "rollup", "archive"
inline constexpr std::string_view kParts = "parts";    // how many profiles a roll-up holds
inline constexpr std::string_view kStored = "stored";  // false: in memory only, gone with the daemon
}  // namespace field

}  // namespace perfvigil::protocol
