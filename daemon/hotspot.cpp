// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/hotspot.hpp"

#include <algorithm>
#include <cmath>

namespace perfvigil::daemon {
namespace {

constexpr Nanoseconds kHour = std::chrono::hours(1);
// A name of so few decayed samples ranks nowhere and is forgotten.
constexpr double kForgottenSamples = 0.05;
// Names of one slice beyond this many times max_candidates go to (other) unranked.
constexpr std::size_t kCandidateRoom = 4;

std::size_t share_of(std::size_t budget, double share) {
    return static_cast<std::size_t>(std::floor(static_cast<double>(budget) * share));
}

}  // namespace

HotspotFamily::HotspotFamily(HotspotOptions options) : options_(options) {}

std::size_t HotspotFamily::named_budget() const { return options_.budget == 0 ? 0 : options_.budget - 1; }

std::size_t HotspotFamily::unit_budget() const {
    return std::max<std::size_t>(1, share_of(options_.budget, options_.unit_share));
}

std::uint64_t HotspotFamily::unit_of(const Candidate& candidate) const {
    return candidate.series == kNoSeries ? candidate.unit : series_[candidate.series].unit;
}

void HotspotFamily::add(std::string_view name, std::uint64_t unit, std::uint64_t samples, std::uint64_t weight) {
    auto found = candidates_.find(name);
    if (found == candidates_.end()) {
        if (candidates_.size() >= kCandidateRoom * options_.max_candidates) {
            unranked_ += weight;
            return;
        }
        found = candidates_.emplace(std::string(name), Candidate{}).first;
    }
    Candidate& candidate = found->second;
    candidate.slice_samples += samples;
    candidate.slice_weight += weight;
    if (candidate.unit == unit) {
        candidate.unit_votes += weight;
    } else if (candidate.unit_votes >= weight) {
        candidate.unit_votes -= weight;
    } else {
        candidate.unit = unit;
        candidate.unit_votes = weight - candidate.unit_votes;
    }
}

void HotspotFamily::close_slice(MonotonicTime end, MonotonicTime newest_served) {
    if (first_slice_ == kNever) first_slice_ = end;
    start_announced(end, newest_served);
    count_and_decay(end);
    rank();
    retire(end);
    admit(end);
    forget_light_candidates();
    last_slice_ = end;
}

void HotspotFamily::start_announced(MonotonicTime end, MonotonicTime newest_served) {
    const bool scraped = newest_served >= end - options_.scrape_patience;
    for (Series& series : series_) {
        if (series.state != State::kAnnounced) continue;
        const bool seen = newest_served >= series.announced || !scraped;
        if (seen || end - series.announced >= options_.scrape_patience) series.state = State::kCounting;
    }
}

void HotspotFamily::count_and_decay(MonotonicTime end) {
    const Nanoseconds passed = last_slice_ == kNever ? Nanoseconds{} : std::max(Nanoseconds{}, end - last_slice_);
    const double kept = std::exp2(-to_seconds(passed) / to_seconds(options_.half_life));
    std::uint64_t slice_weight = unranked_;
    other_ += std::exchange(unranked_, 0);
    for (auto& [name, candidate] : candidates_) {
        const std::uint64_t weight = std::exchange(candidate.slice_weight, 0);
        const std::uint64_t samples = std::exchange(candidate.slice_samples, 0);
        slice_weight += weight;
        const bool counts = candidate.series != kNoSeries && series_[candidate.series].state == State::kCounting;
        (counts ? series_[candidate.series].value : other_) += weight;
        candidate.weight = candidate.weight * kept + static_cast<double>(weight);
        candidate.samples = candidate.samples * kept + static_cast<double>(samples);
    }
    total_ += slice_weight;
    decayed_total_ = decayed_total_ * kept + static_cast<double>(slice_weight);
}

// The deserving: the heaviest names that fill the core of the budget, no unit more than its quarter.
void HotspotFamily::rank() {
    ranked_.clear();
    const double least = std::max(options_.min_weight * decayed_total_, 1e-9);
    for (auto& [name, candidate] : candidates_) {
        candidate.deserving = false;
        const bool enough = candidate.series != kNoSeries || candidate.samples >= options_.min_samples;
        if (enough && candidate.weight >= least) ranked_.emplace_back(name, &candidate);
    }
    std::ranges::sort(ranked_, [](const Ranked& a, const Ranked& b) {
        if (a.second->weight != b.second->weight) return a.second->weight > b.second->weight;
        return a.first < b.first;
    });

    const std::size_t core = std::min(share_of(options_.budget, options_.core_share), named_budget());
    boost::unordered_flat_map<std::uint64_t, std::size_t> per_unit;
    std::size_t kept = 0;
    for (const Ranked& one : ranked_) {
        if (kept == core) break;
        const std::uint64_t unit = unit_of(*one.second);
        if (unit != 0 && ++per_unit[unit] > unit_budget()) continue;
        one.second->deserving = true;
        ranked_[kept++] = one;
    }
    ranked_.resize(kept);
}

void HotspotFamily::retire(MonotonicTime end) {
    std::vector<Series> staying;
    staying.reserve(series_.size());
    for (Series& series : series_) {
        Candidate& candidate = candidates_.find(series.name)->second;
        if (candidate.deserving) {
            series.under_since = kNever;
            // Its value is known to every scraper, so it goes on from there; nothing new appears.
            if (series.state == State::kLingering) series.state = State::kCounting;
        } else if (series.state == State::kLingering) {
            if (end >= series.lingers_until) {
                gone_ += series.value;
                candidate.series = kNoSeries;
                continue;
            }
        } else if (series.under_since == kNever) {
            series.under_since = end;
        } else if (series.state == State::kCounting && end - series.under_since >= options_.exit_after) {
            series.state = State::kLingering;
            series.lingers_until = end + options_.linger;
        }
        candidate.series = static_cast<std::uint32_t>(staying.size());
        staying.push_back(std::move(series));
    }
    series_ = std::move(staying);
}

void HotspotFamily::admit(MonotonicTime end) {
    while (!entries_.empty() && end - entries_.front() >= kHour) entries_.pop_front();
    const bool first_hour = end - first_slice_ < kHour;
    const std::size_t allowed = first_hour ? named_budget() : options_.new_per_hour;
    const std::size_t allowed_light = first_hour ? allowed : share_of(allowed, options_.light_share);

    for (const auto& [name, candidate] : ranked_) {
        if (series_.size() >= named_budget() || entries_.size() >= allowed) return;
        if (candidate->series != kNoSeries) continue;
        // Ranked by weight: from here on all are light.
        const bool light = candidate->weight < options_.heavy_weight * decayed_total_;
        if (light && entries_.size() >= allowed_light) return;
        const auto same_unit = std::ranges::count(series_, candidate->unit, &Series::unit);
        if (candidate->unit != 0 && static_cast<std::size_t>(same_unit) >= unit_budget()) continue;
        candidate->series = static_cast<std::uint32_t>(series_.size());
        series_.push_back({.name = std::string(name),
                           .unit = candidate->unit,
                           .announced = end,
                           .under_since = kNever,
                           .lingers_until = kNever});
        entries_.push_back(end);
    }
}

void HotspotFamily::forget_light_candidates() {
    boost::unordered::erase_if(candidates_, [](const auto& entry) {
        return entry.second.series == kNoSeries && entry.second.samples < kForgottenSamples;
    });
    if (candidates_.size() <= options_.max_candidates) return;
    std::vector<double> weights;
    for (const auto& [name, candidate] : candidates_) {
        if (candidate.series == kNoSeries) weights.push_back(candidate.weight);
    }
    const std::size_t excess = std::min(candidates_.size() - options_.max_candidates, weights.size());
    if (excess == 0) return;
    const auto nth = weights.begin() + static_cast<std::ptrdiff_t>(excess - 1);
    std::ranges::nth_element(weights, nth);
    // Of equally light ones any may go, but no more than the excess.
    std::size_t left = excess;
    boost::unordered::erase_if(candidates_, [&](const auto& entry) {
        if (left == 0 || entry.second.series != kNoSeries || entry.second.weight > *nth) return false;
        --left;
        return true;
    });
}

}  // namespace perfvigil::daemon
