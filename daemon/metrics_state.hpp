// SPDX-License-Identifier: GPL-2.0-or-later
// What Metrics has added up so far, between the slices that go in (metrics.cpp) and the text that comes out
// (metrics_text.cpp). Nothing here knows the text's format.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/ledger.hpp"
#include "analyzer/ledger_sum.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "daemon/metrics.hpp"

namespace perfvigil::daemon {

// A quantity that may fall, shown as a counter that never does: the greatest value so far, at least 0.
struct HighMark {
    std::int64_t high = 0;

    void reach(std::int64_t value) { high = std::max(high, value); }
};

// A share of recent time: both parts lose half their weight per half-life.
struct RecentShare {
    double part = 0;
    double whole = 0;

    void decay(double kept) {
        part *= kept;
        whole *= kept;
    }
    [[nodiscard]] double ratio() const { return whole > 0 ? part / whole : 0; }
};

enum class CpuMode : std::uint8_t { kUser, kKernel, kSoftirq, kIdle, kStolen, kUnknown };
inline constexpr std::size_t kCpuModes = 6;
inline constexpr std::array<std::string_view, kCpuModes> kCpuModeNames{"user", "kernel", "softirq",
                                                                       "idle", "stolen", "unknown"};

struct CpuSums {
    std::array<std::int64_t, kCpuModes> time{};  // ns by samples and records; what /proc/stat says comes on top
    analyzer::LedgerSum ledger;
    HighMark idle_unsampled;
    HighMark stolen;
    HighMark unexplained;
    bool in_last_slice = false;
    analyzer::Busy busy;                   // of the last slice
    double effective_hertz = 0;            // of the last slice, 0: absent
    std::optional<double> disagreement{};  // with /proc/stat, in the last slice

    [[nodiscard]] std::int64_t shown(std::size_t mode) const {
        switch (static_cast<CpuMode>(mode)) {
            case CpuMode::kIdle: return time[mode] + idle_unsampled.high;
            case CpuMode::kStolen: return stolen.high;
            case CpuMode::kUnknown: return time[mode] + unexplained.high;
            default: return time[mode];
        }
    }
};

struct EventSums {
    std::string name;
    bool clock = false;
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
    std::uint64_t lost = 0;
    std::uint64_t throttles = 0;
    Nanoseconds throttled{};
    double frequency = 0;  // hertz, 0: sampled by a fixed count of events
};

// What a raw name became, kept so that a slice costs lookups only.
class IdentityCache {
public:
    using Make = std::string (*)(std::string_view);
    explicit IdentityCache(Make make) : make_(make) {}
    [[nodiscard]] const std::string& of(std::string_view raw);

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    Make make_;
    boost::unordered_flat_map<std::string, std::string, Hash, std::equal_to<>> known_;
};

struct Metrics::State {
    explicit State(MetricsOptions given);

    void add_events(const analyzer::Slice& slice, const std::vector<collector::EventInfo>& events);
    void add_cpus(const analyzer::Slice& slice);
    void add_hotspots(const analyzer::SliceHotspots& hotspots, double kept);
    void add_broken_stacks(const analyzer::Slice& slice, double kept);
    void add_waits(const collector::Waits& waits);
    void set_programs(const std::vector<analyzer::ProfileProgram>& programs);
    void add_taxes(const analyzer::Profile& profile);
    [[nodiscard]] EventSums& event(std::string_view name);

    MetricsOptions options;
    DaemonNumbers numbers;

    // Which of the recording's events feed the families; by EventIndex.
    std::optional<std::uint32_t> time_event;
    std::vector<bool> is_cycles;

    std::vector<EventSums> events;  // sampling events, in the recording's order
    std::uint64_t shared_lost = 0;  // lost by rings, of whatever event
    std::map<std::uint32_t, CpuSums> cpus;
    std::map<std::uint32_t, Nanoseconds> run_delays;  // so far, by CPU
    analyzer::CpuSlice host;                          // sum of the last slice's CPUs
    double idle_hertz = 0;                            // analyzer/idle_cycles.hpp, of them
    analyzer::ClockLedger ledger;
    double ticks_due = 0;
    bool units_throttled = false;  // some unit has a limit
    bool cycles_recorded = false;
    std::uint64_t cycles_counted = 0;
    std::uint64_t cycles_sampled = 0;
    std::uint64_t cycles_idle = 0;

    HotspotFamily functions;
    HotspotFamily functions_by_cycles;
    HotspotFamily dsos;
    HotspotFamily units;
    HotspotFamily throttled_units;
    IdentityCache function_names;
    IdentityCache dso_names;
    IdentityCache unit_names;
    std::string key;  // scratch: the name of a function's series, "function\ndso"

    std::map<analyzer::UnknownReason, RecentShare> unresolved;
    RecentShare named;                          // whole: every sample of the time event
    std::map<std::string, RecentShare> broken;  // by binary: samples through it, and those whose chain broke there

    std::map<std::string_view, std::uint64_t> security_tax;  // ns by tax_name(), in closed windows

    struct UnitBuild {
        std::string unit, program, build_id, package, package_version;
    };
    std::vector<UnitBuild> unit_builds;  // the main program of each unit, by unit

    std::map<std::string, bool> degraded;  // by reason, whether it holds now; none is ever forgotten
    std::uint64_t slices = 0;
    std::uint64_t slices_maps_suspect = 0;
    std::uint64_t slices_clock_stepped = 0;
    std::uint64_t slices_idle_by_task = 0;
    std::uint64_t late_records = 0;
    std::uint64_t lost_side_band = 0;
    std::uint64_t cut_frames = 0;
    MonotonicTime last_end{};
    WallTime last_wall_end{};
};

}  // namespace perfvigil::daemon
