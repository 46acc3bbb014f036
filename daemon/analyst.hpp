// SPDX-License-Identifier: GPL-2.0-or-later
// The thread that gives names to slices: metrics after each slice, a profile after each window, and the store. Runs at
// a lower priority than the sampler and may fall behind it by as many slices as their queue holds.
//
//   parcels ─▶ ProfileBuilder ─▶ Metrics ─▶ board          per slice
//                       └▶ Profile ─ (random delay) ─▶ ProfileStore    per window
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "analyzer/profile/builder.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "collector/host_facts.hpp"
#include "config/options.hpp"
#include "daemon/board.hpp"
#include "daemon/metrics.hpp"
#include "daemon/sampler.hpp"
#include "daemon/slice_parcel.hpp"
#include "daemon/store.hpp"
#include "daemon/trigger_judge.hpp"
#include "daemon/trigger_signals.hpp"
#include "daemon/window_clock.hpp"

namespace perfvigil::daemon {

// What the analyst asks of parts that it does not own.
struct Surroundings {
    std::function<void()> note_kernel_change;                    // kallsyms is to be read again
    std::function<std::vector<collector::Degraded>()> no_names;  // what symbols have to do without
    std::function<pid_t()> symbol_child;                         // 0: none is running
    std::function<std::uint64_t()> dropped_files;                // of the opener's queue
    struct Captures {
        std::uint64_t bytes = 0;
        std::uint64_t files = 0;
        std::uint64_t abandoned = 0;
        std::string current;
        std::uint64_t frozen_bytes = 0;
    };
    std::function<Captures()> captures;
    // A window was stored; what is known of those that were sent on.
    std::function<void(const std::string& id)> on_stored{};
    std::function<std::optional<ShipCounters>()> shipped{};
    // A window was closed; before it is stored.
    std::function<void(const analyzer::Profile&)> on_window{};
    // What is frozen already, and what is done when a rule comes true.
    std::function<std::shared_ptr<const std::vector<Frozen>>()> frozen{};
    std::function<void(const Firing&, Nanoseconds last)> on_rule{};
    // A sentence for each capture on demand that ran between the two times.
    std::function<std::vector<std::string>(WallTime from, WallTime to)> captures_beside{};
};

class Analyst {
public:
    struct Parts {
        const config::Options& options;  // looked at by the constructor only
        analyzer::Symbolizer& symbolizer;
        const collector::HostFacts& host;
        Surroundings surroundings;
        SliceQueues& queues;
        Board& board;
        const Clock& clock;
        collector::SampleCost sample_cost;  // for what is published before the first slice
        bool replay = false;                // windows are stored at once
    };

    explicit Analyst(Parts parts);

    // Until `stop`; then what waits is analyzed, the open window closed and everything stored. Stop it after the
    // sampler has ended.
    void run(const std::stop_token& stop);

    // Any thread.
    void reload(const config::Options& options);
    [[nodiscard]] std::shared_ptr<const Catalog> catalog() const { return store_.catalog(); }

private:
    struct Waiting {
        analyzer::Profile profile;
        MonotonicTime due{};
    };

    void take(SliceParcel parcel);
    void note_changes(const SliceParcel& parcel);
    void begin_builder(const SliceParcel& parcel);
    void judge_rules(const analyzer::Slice& slice, const analyzer::SliceHotspots& hotspots);
    void close_window(bool early);
    void store_one();
    void store_due();
    void tend_store();
    void take_orders();
    void publish(const SliceParcel* parcel, Nanoseconds spent);
    void show(const SliceParcel& parcel, const analyzer::SliceHotspots& hotspots);
    [[nodiscard]] DaemonNumbers numbers(const SliceParcel* parcel, Nanoseconds spent);
    [[nodiscard]] RecordingStatus status(const SliceParcel& parcel) const;
    [[nodiscard]] int wait_ms() const;
    void beat();

    Parts parts_;
    Nanoseconds spread_;
    config::BudgetOptions budget_;
    std::uint64_t store_limit_;
    ProfileStore store_;
    Metrics metrics_;
    OverheadNumbers overhead_;  // as of the last slice
    StepCounts step_counts_{};
    Nanoseconds window_length_;
    WindowClock windows_;
    std::shared_ptr<const std::vector<collector::EventInfo>> events_;
    std::unique_ptr<analyzer::ProfileBuilder> builder_;
    std::deque<Waiting> waiting_;
    Nanoseconds trigger_last_;
    TriggerJudge judge_;
    TriggerSignals signals_;
    bool remembered_ = false;            // what rules did before this start
    bool store_untended_ = true;         // it changed since its upkeep was last done
    std::vector<std::string> notes_;     // of the open window
    std::vector<std::string> warnings_;  // …
    std::vector<collector::Degraded> session_degraded_;
    std::optional<collector::Tuning> tuning_;
    WallTime last_end_{};
    std::uint64_t dropped_slices_ = 0;
    std::uint64_t samples_ = 0;
    WindowCounters window_counters_;
    std::minstd_rand random_;
    std::mutex orders_mutex_;
    std::optional<config::Options> orders_;
};

}  // namespace perfvigil::daemon
