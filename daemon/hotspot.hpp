// SPDX-License-Identifier: GPL-2.0-or-later
// A bounded set of counters over names that come from outside (functions, binaries, units) whose sum is always the
// total: what has no series of its own is counted in (other). Knows no metrics library and no clock; time is that of
// the slices.
//
//   candidate ──▶ announced ──▶ counting ──▶ lingering ──▶ gone
//              at 0; its weight           constant for 10 min;
//              still goes to (other)      its weight goes to (other)
//
// A series is announced at 0 before it counts, so that increase() over its first scrape misses nothing. (other) is
// only ever added to: no value moves between series, so none of them ever decreases while it is shown.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/time.hpp"

namespace perfvigil::daemon {

struct HotspotOptions {
    std::size_t budget = 100;       // series, (other) included
    double core_share = 0.75;       // of the budget for the heaviest names; the rest is room for newcomers, because
                                    // those they push out stay for exit_after + linger
    double unit_share = 0.25;       // of the budget for names that one unit brings
    std::size_t new_per_hour = 20;  // new series in any hour after the first; in the first as many as the budget
    double light_share = 0.75;      // of new_per_hour for names under heavy_weight; the rest waits for heavier ones
    double heavy_weight = 0.01;     // of the total
    double min_weight = 0.001;      // of the total: a name below it gets no series, and loses it after exit_after
    double min_samples = 3;         // decayed samples before a name may get a series
    Nanoseconds half_life = std::chrono::minutes(5);  // of the weights by which names are ranked
    Nanoseconds exit_after = std::chrono::minutes(30);
    Nanoseconds linger = std::chrono::minutes(10);
    // While somebody scrapes (served within this long), an announced series waits until its 0 was served, but no
    // longer than this. Otherwise it counts from the next slice on.
    Nanoseconds scrape_patience = std::chrono::seconds(70);
    std::size_t max_candidates = 4096;  // names ranked at a time; the lightest are forgotten beyond it
};

inline constexpr std::string_view kOther = "(other)";

class HotspotFamily {
public:
    enum class State : std::uint8_t { kAnnounced, kCounting, kLingering };

    struct Series {
        std::string name;         // as given to add()
        std::uint64_t value = 0;  // weight counted here
        State state = State::kAnnounced;
        std::uint64_t unit = 0;  // whose quarter it uses; 0: nobody's
        MonotonicTime announced{};
        MonotonicTime under_since{};  // kCounting: since when it does not deserve its place, or kNever
        MonotonicTime lingers_until{};
    };

    explicit HotspotFamily(HotspotOptions options = {});

    // One name's share of the open slice; any number of times per name. `unit` identifies who brought the name (a
    // hash; 0: nobody in particular, e.g. the kernel's own functions).
    void add(std::string_view name, std::uint64_t unit, std::uint64_t samples, std::uint64_t weight);

    // Ends the slice: counts it, then decides on entries and exits. `newest_served`: end of the newest slice after
    // which the values have been scraped; MonotonicTime::min() while nobody has.
    void close_slice(MonotonicTime end, MonotonicTime newest_served);

    [[nodiscard]] const std::vector<Series>& series() const { return series_; }
    [[nodiscard]] std::uint64_t other() const { return other_; }
    // Σ of every weight of every closed slice. Equals other() + Σ value + Σ of the values of series that are gone.
    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] std::uint64_t gone() const { return gone_; }
    [[nodiscard]] std::size_t candidates() const { return candidates_.size(); }

private:
    static constexpr MonotonicTime kNever = MonotonicTime::max();
    static constexpr std::uint32_t kNoSeries = ~std::uint32_t{0};

    struct Candidate {
        double weight = 0;  // decayed
        double samples = 0;
        std::uint64_t slice_weight = 0;
        std::uint64_t slice_samples = 0;
        std::uint64_t unit = 0;  // the one that brings most of it (majority vote by weight)
        std::uint64_t unit_votes = 0;
        std::uint32_t series = kNoSeries;
        bool deserving = false;
    };
    struct NameHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
    };
    using Candidates = boost::unordered_flat_map<std::string, Candidate, NameHash, std::equal_to<>>;
    using Ranked = std::pair<std::string_view, Candidate*>;

    void start_announced(MonotonicTime end, MonotonicTime newest_served);
    void count_and_decay(MonotonicTime end);
    void rank();
    void retire(MonotonicTime end);
    void admit(MonotonicTime end);
    void forget_light_candidates();
    [[nodiscard]] std::uint64_t unit_of(const Candidate& candidate) const;
    [[nodiscard]] std::size_t named_budget() const;
    [[nodiscard]] std::size_t unit_budget() const;

    HotspotOptions options_;
    Candidates candidates_;
    std::vector<Series> series_;
    std::vector<Ranked> ranked_;         // scratch: the deserving, heaviest first
    std::deque<MonotonicTime> entries_;  // announcements of the last hour
    std::uint64_t unranked_ = 0;         // weight of the open slice whose names found no room
    std::uint64_t other_ = 0;
    std::uint64_t total_ = 0;
    std::uint64_t gone_ = 0;
    double decayed_total_ = 0;
    MonotonicTime first_slice_ = kNever;
    MonotonicTime last_slice_ = kNever;
};

}  // namespace perfvigil::daemon
