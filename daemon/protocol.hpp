// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon and its callers agree on: where the control socket is, which paths there are, and how the fields of
// their JSON are called. docs/http-api.md tells it to people.
#pragma once

#include <cstddef>
#include <string_view>

namespace perfvigil::protocol {

inline constexpr std::string_view kDefaultControlSocket = "/run/perfvigil/control.sock";
inline constexpr std::string_view kDefaultReadSocket = "/run/perfvigil/read.sock";
inline constexpr std::string_view kDefaultConfigFile = "/etc/perfvigil/perfvigil.yaml";

// Paths. Metrics and health are answered on every listener, what reads profiles on both sockets (over TCP with a
// token), captures on the control socket only.
inline constexpr std::string_view kMetrics = "/metrics";
inline constexpr std::string_view kHealthz = "/healthz";
inline constexpr std::string_view kReadyz = "/readyz";
inline constexpr std::string_view kStatus = "/v1/status";
inline constexpr std::string_view kLive = "/v1/live";        // ?after=N
inline constexpr std::string_view kWindows = "/v1/windows";  // ?limit=N&kind=all, newest first; ?since=NS&until=NS
// /v1/windows/{id|latest}/report?format=text|json&top=N&width=N and /v1/windows/{id|latest}/profile
inline constexpr std::string_view kLatest = "latest";
inline constexpr std::string_view kReport = "report";
inline constexpr std::string_view kProfile = "profile";

inline constexpr std::string_view kExport = "/v1/export";
inline constexpr std::string_view kDiff = "/v1/diff";
inline constexpr std::string_view kRaw = "/v1/raw";  // /v1/raw/profile, /v1/raw/heat
inline constexpr std::string_view kHeat = "heat";

// GET: those that run and wait. POST: one more, described by parameter::*; the answer ends with the capture.
inline constexpr std::string_view kCaptures = "/v1/captures";

// POST, on the sockets: a URL that opens the page once, over TCP. GET of it sets a cookie.
inline constexpr std::string_view kWeb = "/v1/web";
inline constexpr std::string_view kOpen = "/open";  // ?key=KEY

// GET: what is frozen. POST: freezes what parameter::kLast says. POST below /{id}/thaw: gives one up.
inline constexpr std::string_view kFrozen = "/v1/frozen";
inline constexpr std::string_view kThaw = "thaw";

inline constexpr std::string_view kTokenCookie = "perfvigil_token";
inline constexpr std::string_view kSessionCookie = "perfvigil_session_";  // … and what tells daemons apart

inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";
inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kProfileType = "application/vnd.perfvigil.profile";
inline constexpr std::string_view kCaptureType = "application/vnd.perfvigil.capture";

// A capture as it comes (format=stream): frames of a kind (1 byte), the length of what follows (4 bytes, little
// endian), and that.
namespace frame {
inline constexpr std::size_t kHeadSize = 5;
inline constexpr std::size_t kOffsetSize = 8;
inline constexpr char kEvent = 'J';    // JSON: what happened; field::kEvent names it, see event::*
inline constexpr char kBytes = 'B';    // of the capture file: their offset in it (8 bytes, little endian), and them
inline constexpr char kProfile = 'P';  // as /v1/windows/ID/profile
}  // namespace frame

namespace event {
inline constexpr std::string_view kWaiting = "waiting";    // position
inline constexpr std::string_view kStarted = "started";    // id, message, start_seconds, degraded
inline constexpr std::string_view kProgress = "progress";  // elapsed_seconds, samples, lost
inline constexpr std::string_view kRecorded = "recorded";  // the same; the file is whole
inline constexpr std::string_view kEnd = "end";            // result, message, cost_percent
}  // namespace event

// Of POST /v1/captures, written as the options of `perfvigil capture` are.
namespace parameter {
inline constexpr std::string_view kDuration = "duration";
inline constexpr std::string_view kFrequency = "frequency";
inline constexpr std::string_view kPid = "pid";
inline constexpr std::string_view kUnit = "unit";
inline constexpr std::string_view kCgroup = "cgroup";
inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kEvent = "event";
inline constexpr std::string_view kCallGraph = "call_graph";
inline constexpr std::string_view kMaxStack = "max_stack";
inline constexpr std::string_view kLabel = "label";
inline constexpr std::string_view kForce = "force";    // true: whatever it costs
inline constexpr std::string_view kRaw = "raw";        // true: the capture file too (format=stream)
inline constexpr std::string_view kFormat = "format";  // text (default), json, profile, stream
// Of POST /v1/frozen: the label, and how far back.
inline constexpr std::string_view kLast = "last";
}  // namespace parameter

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

// /v1/captures, and the events of a capture
inline constexpr std::string_view kEvent = "event";
inline constexpr std::string_view kMessage = "message";
inline constexpr std::string_view kPosition = "position";
inline constexpr std::string_view kResult = "result";
inline constexpr std::string_view kElapsedSeconds = "elapsed_seconds";
inline constexpr std::string_view kStartSeconds = "start_seconds";  // from the request to the first event enabled
inline constexpr std::string_view kCostPercent = "cost_percent";    // of the host's CPU time
inline constexpr std::string_view kLabel = "label";
inline constexpr std::string_view kTarget = "target";
inline constexpr std::string_view kUid = "uid";

// /v1/web
inline constexpr std::string_view kUrl = "url";
inline constexpr std::string_view kExpiresSeconds = "expires_seconds";

// /v1/live: {"run": …, "state": …, "slices": [...]}
inline constexpr std::string_view kRun = "run";  // when the daemon was started: slices are counted anew in each
inline constexpr std::string_view kSliceList = "slices";
inline constexpr std::string_view kNumber = "number";
inline constexpr std::string_view kBusy = "busy";
inline constexpr std::string_view kBusyLow = "busy_low";
inline constexpr std::string_view kBusyHigh = "busy_high";
inline constexpr std::string_view kCoverage = "coverage";
inline constexpr std::string_view kEffectiveHertz = "effective_hertz";
inline constexpr std::string_view kSeconds = "seconds";
inline constexpr std::string_view kModes = "modes";
inline constexpr std::string_view kUser = "user";
inline constexpr std::string_view kKernel = "kernel";
inline constexpr std::string_view kSoftirq = "softirq";
inline constexpr std::string_view kIdle = "idle";
inline constexpr std::string_view kStolen = "stolen";
inline constexpr std::string_view kUnknown = "unknown";
inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kLedger = "ledger";
inline constexpr std::string_view kThrottles = "throttles";
inline constexpr std::string_view kCpuSeconds = "cpu_seconds";
inline constexpr std::string_view kFunctions = "functions";
inline constexpr std::string_view kFunction = "function";
inline constexpr std::string_view kDso = "dso";
inline constexpr std::string_view kOtherFunctionsSeconds = "other_functions_seconds";
inline constexpr std::string_view kUnits = "units";
inline constexpr std::string_view kUnit = "unit";
inline constexpr std::string_view kThrottledSeconds = "throttled_seconds";
inline constexpr std::string_view kOtherUnitsSeconds = "other_units_seconds";
inline constexpr std::string_view kLateRecords = "late_records";
inline constexpr std::string_view kLostSideBand = "lost_side_band";
inline constexpr std::string_view kMapsSuspect = "maps_suspect";
inline constexpr std::string_view kClockStepped = "clock_stepped";
inline constexpr std::string_view kCost = "cost";
inline constexpr std::string_view kProcesses = "processes";
inline constexpr std::string_view kBudget = "budget";
inline constexpr std::string_view kAssumed = "assumed";

// /v1/frozen: {"frozen": [...], "dir": …, "bytes": N, "bytes_limit": N}
inline constexpr std::string_view kFrozen = "frozen";
inline constexpr std::string_view kRule = "rule";
inline constexpr std::string_view kWho = "who";
inline constexpr std::string_view kEvidence = "evidence";  // message, value, limit, held_seconds
inline constexpr std::string_view kValue = "value";
inline constexpr std::string_view kLimit = "limit";
inline constexpr std::string_view kHeldSeconds = "held_seconds";
inline constexpr std::string_view kCaptured = "captured";  // what became of the capture that a rule began
inline constexpr std::string_view kFiles = "files";

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
