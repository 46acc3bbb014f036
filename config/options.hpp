// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon is told, as plain values. Every field is one key of perfvigil.yaml (config/keys.cpp says which, with
// its unit and consequence); the initial values here are the defaults. What the recording itself needs is
// collector::RecordingOptions, held here as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "collector/recording_options.hpp"
#include "config/ship.hpp"
#include "config/trigger_rule.hpp"

namespace perfvigil::config {

using Seconds = std::chrono::seconds;
using Hours = std::chrono::hours;

// Which CPUs to record. Names are resolved against /sys when the recording starts.
struct CpuSelection {
    enum class Kind : std::uint8_t { kExceptIsolated, kAll, kList };
    Kind kind = Kind::kExceptIsolated;
    std::vector<CpuId> list;  // kList

    friend bool operator==(const CpuSelection&, const CpuSelection&) = default;
};

// What nobody is to learn from profiles and metrics. With either of the two no raw captures are kept.
struct ExcludeOptions {
    std::vector<std::string> units;  // patterns (analyzer::ExclusionRules)
    std::vector<std::string> comms;  // patterns
    std::vector<std::string> users;  // names, or numbers

    [[nodiscard]] bool empty() const { return units.empty() && comms.empty() && users.empty(); }
};
enum class Redact : std::uint8_t { kNothing, kPaths };

struct AnalysisOptions {
    Nanoseconds window = Seconds(60);  // whole slices; the unit of reports and of the store
    // Encoding and storing a window start after a random time up to this (at most half a window), so that a fleet
    // does not peak at :00.
    Nanoseconds spread = Seconds(20);
};

struct SymbolOptions {
    std::vector<std::string> debuginfod;  // URLs of servers; empty: none is asked
    std::string debuginfod_directory = "/var/lib/perfvigil/debuginfod";
};

struct StoreOptions {
    std::string directory = "/var/lib/perfvigil/profiles";
    std::uint64_t bytes = 1ULL << 30;         // beyond it the oldest profiles are removed
    std::uint64_t free_bytes = 256ULL << 20;  // below it on the file system, neither profiles nor captures grow
    Nanoseconds window_age = Hours(6);        // windows that are rolled up are kept so long
    Nanoseconds rollup_length = Seconds(600);
    Nanoseconds rollup_age = Hours(7 * 24);
    Nanoseconds archive_length = Hours(1);
    Nanoseconds archive_age = Hours(90 * 24);
};

struct CaptureOptions {
    bool enabled = true;
    std::string directory = "/var/lib/perfvigil/captures";
    std::uint64_t file_bytes = 64ULL << 20;   // a file is cut at the next slice boundary beyond this …
    Nanoseconds file_age = Seconds(600);      // … or this
    std::uint64_t bytes = 1ULL << 30;         // all files; beyond it the oldest are removed
    Nanoseconds keep = Hours(24);             // older ones are removed
    std::uint64_t frozen_bytes = 1ULL << 30;  // all that are frozen, which count in neither of the two above
    std::uint32_t compression = 3;            // zstd level, 0: none
};

// What is kept of captures, and recorded besides, when something happens.
struct TriggerOptions {
    std::vector<TriggerRule> rules;
    Nanoseconds last = Seconds(600);             // so much from before it is frozen
    Nanoseconds pause = Hours(1);                // a rule that did something does nothing more for so long
    std::uint32_t per_hour = 4;                  // so often all rules together do something
    Nanoseconds capture_duration = Seconds(30);  // of the capture that a rule begins; 0: none
    std::uint32_t capture_frequency = 999;
};

// Captures that callers ask for over the control socket.
struct OnDemandOptions {
    std::uint32_t concurrent = 2;        // more wait
    std::uint32_t waiting = 8;           // more are refused
    Nanoseconds longest = Seconds(600);  // of one capture
};

struct ListenOptions {
    bool enabled = true;
    std::string address = "127.0.0.1";       // numeric
    std::uint16_t port = 9909;               // 0: any free one, said in the log
    std::vector<std::string> allowed_hosts;  // values of the Host header beside loopback names
    bool allow_remote = false;               // an address that other hosts can reach; needs a token
    std::string token_file;                  // requests over TCP must carry its content; empty: none
};

struct SocketOptions {
    std::string control = "/run/perfvigil/control.sock";
    std::string group;                              // owner group of the control socket; empty: the daemon's own
    std::string read = "/run/perfvigil/read.sock";  // empty: none
    std::string read_group = "perfvigil-read";      // owner group of the read socket; empty: the daemon's own
    std::uint32_t mode = 0660;                      // of both
};

// How many series of names from outside may exist, and from which weight on (DESIGN "Metrics").
struct MetricsOptions {
    std::uint32_t functions = 100;
    std::uint32_t dsos = 100;
    std::uint32_t units = 100;
    double threshold = 0.001;  // share of the busy CPU time, over some minutes, from which a name may get a series
};

struct BudgetOptions {
    double cpu = 0.01;       // share of the host's CPU time that the daemon and the kernel's sampling may take
    double captures = 0.05;  // the same for captures on demand, all that run; beside `cpu`
};

enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug };
struct LogOptions {
    LogLevel level = LogLevel::kInfo;
};

struct Options {
    collector::RecordingOptions recording;  // target, inherit and start_disabled_until_exec stay as they are
    CpuSelection cpus;
    AnalysisOptions analysis;
    ExcludeOptions exclude;
    Redact redact = Redact::kNothing;
    SymbolOptions symbols;
    StoreOptions store;
    CaptureOptions captures;
    TriggerOptions triggers;
    OnDemandOptions on_demand;
    ShipOptions ship;
    ListenOptions listen;
    SocketOptions sockets;
    MetricsOptions metrics;
    BudgetOptions budget;
    LogOptions log;

    // Raw captures would tell what profiles must not.
    [[nodiscard]] bool hides() const { return !exclude.empty() || redact != Redact::kNothing; }
};

}  // namespace perfvigil::config
