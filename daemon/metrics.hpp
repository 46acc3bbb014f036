// SPDX-License-Identifier: GPL-2.0-or-later
// Everything perfvigild publishes for Prometheus: fed with plain numbers once per slice, asked for one text. Meaning,
// unit and use of every series: docs/metrics.md.
//
// Thread: one owner, the analyst. exposition() is built there and published by the daemon as an immutable text; no
// scrape ever touches this object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile/builder.hpp"
#include "analyzer/slice.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/event_table.hpp"
#include "collector/recording_session.hpp"
#include "daemon/capture_use.hpp"
#include "daemon/hotspot.hpp"
#include "daemon/recording_control.hpp"
#include "daemon/ship_queue.hpp"

namespace perfvigil::daemon {

struct MetricsOptions {
    std::string version{};   // build_info
    std::string revision{};  // build_info; empty where unknown
    HotspotOptions functions{};
    HotspotOptions dsos{};
    HotspotOptions units{};
    // CPUs with series of their own; on larger hosts cpu="all", "min" and "max" take their place.
    std::size_t max_cpus = 64;
    // Binaries in broken_stack_ratio: those with the most broken stacks.
    std::size_t max_broken_dsos = 50;
    // Units in unit_build_info: those with the most samples in the last window.
    std::size_t max_unit_builds = 100;
};

// CPU time of the profiler itself since its start; see daemon/overhead.hpp.
struct OverheadNumbers {
    Nanoseconds processes{};  // user and system time of perfvigild and its symbol child (rusage)
    Nanoseconds sampling{};   // samples × cost per sample inside the kernel
    Nanoseconds cost_per_sample{};
    bool cost_assumed = false;  // not calibrated on this host
};

struct BudgetUse {
    std::string_view resource;  // a literal: "cpu", "memory", "store"
    double used = 0;            // in the unit of `allowed`
    double allowed = 0;         // 0: no limit, nothing is published
};

// Of this process; read_process_numbers() fills it from /proc/self.
struct ProcessNumbers {
    double cpu_seconds = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t virtual_bytes = 0;
    std::uint64_t open_fds = 0;
    std::uint64_t max_fds = 0;
    std::uint64_t threads = 0;
    double start_time_seconds = 0;  // Unix time
};
[[nodiscard]] ProcessNumbers read_process_numbers();

// Windows by what became of them; cumulative.
struct WindowCounters {
    std::uint64_t stored = 0;
    std::uint64_t partial = 0;  // stored, but cut short: clock step, suspend, shutdown
    std::uint64_t dropped = 0;  // a queue was full
    std::uint64_t failed = 0;   // the store refused it
};

struct StoreBytes {
    std::uint64_t profiles = 0;
    std::uint64_t captures = 0;
    std::uint64_t index = 0;
    std::uint64_t frozen = 0;
};

// Of one rule of triggers.rules; cumulative.
struct TriggerCounts {
    std::string rule{};
    std::uint64_t fired = 0;
    std::uint64_t suppressed = 0;  // it came true, but its pause or the limit of all had not passed

    friend bool operator==(const TriggerCounts&, const TriggerCounts&) = default;
};

// Drops of the queues between the threads; cumulative.
struct QueueDrops {
    std::uint64_t slices = 0;    // sampler → analyst
    std::uint64_t files = 0;     // mappings → opener
    std::uint64_t captures = 0;  // bytes → capture writer
};

// What is known without a slice; set before the first one too, so that a daemon that cannot record still tells why.
struct DaemonNumbers {
    std::vector<collector::Degraded> degraded{};          // the session's and the daemon's own, now
    std::optional<collector::SessionCounters> session{};  // absent in a replay
    std::optional<std::uint32_t> sampling_frequency{};    // of the session's tuning, hertz; absent in a replay
    OverheadNumbers overhead{};
    std::vector<BudgetUse> budgets{};
    ProcessNumbers process{};
    WindowCounters windows{};
    StoreBytes store{};
    QueueDrops drops{};
    StepCounts steps{};
    CaptureCounts captures{};  // on demand, so far
    std::vector<TriggerCounts> triggers{};
    std::optional<ShipCounters> shipped{};  // absent where nothing is shipped
    Nanoseconds slice_analysis{};           // from taking the slice from the queue to here, last slice
};

class Metrics {
public:
    explicit Metrics(MetricsOptions options);
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    // `newest_served`: end of the newest slice whose exposition went to at least one
    // scraper (new series wait for it, see HotspotFamily); MetricsShelf knows it.
    void add_slice(const analyzer::Slice& slice, const analyzer::SliceHotspots& hotspots,
                   const std::vector<collector::EventInfo>& events, MonotonicTime newest_served);

    // Replaces what was set before; counters in it are cumulative and never fall.
    void set(DaemonNumbers numbers);

    // A closed window: what its units executed takes the place of what was known before, what mitigations and hardening
    // cost in it is added.
    void add_window(const analyzer::Profile& profile);

    // Prometheus text format 0.0.4, UTF-8 (protocol::kMetricsType).
    [[nodiscard]] std::string exposition() const;

    struct State;  // metrics_state.hpp

private:
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::daemon
