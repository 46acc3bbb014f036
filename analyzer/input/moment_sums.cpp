// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/moment_sums.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMostRows = 1U << 20;
// A longer silence is one long moment, so that a damaged time cannot ask for millions of them.
constexpr std::int64_t kMostSilent = 64;
constexpr Nanoseconds kLongest{std::int64_t{1} << 60};

std::int64_t divide_down(std::int64_t value, std::int64_t by) {
    const std::int64_t quotient = value / by;
    return value % by < 0 ? quotient - 1 : quotient;
}

}  // namespace

void MomentSums::add(Nanoseconds time, std::uint32_t event, std::uint32_t self, std::uint64_t samples,
                     std::uint64_t weight) {
    if (rows_.empty()) origin_ = first_ = last_ = previous_ = time;
    if (time < previous_) ++steps_back_;
    previous_ = time;
    first_ = std::min(first_, time);
    last_ = std::max(last_, time);
    const std::int64_t stretch = divide_down((time - origin_).count(), length_.count());
    count(stretch, event, kNone, samples, weight);
    if (self != kNone) count(stretch, event, self, samples, weight);
}

void MomentSums::count(std::int64_t stretch, std::uint32_t event, std::uint32_t function, std::uint64_t samples,
                       std::uint64_t weight) {
    const std::uint64_t hash =
        mix(mix(hash_seed(), static_cast<std::uint64_t>(stretch)), (std::uint64_t{event} << 32U) | function);
    const auto found = index_.find(hash, [&](std::uint32_t at) {
        const Row& row = rows_[at];
        return row.stretch == stretch && row.event == event && row.function == function;
    });
    if (found != HashIndex::kNone) {
        rows_[found].samples += samples;
        rows_[found].weight += weight;
        return;
    }
    if (rows_.size() >= kMostRows) {
        const auto [low, high] = std::ranges::minmax(rows_, {}, &Row::stretch);
        // Few stretches with more functions than anybody looks at.
        if (low.stretch == high.stretch || length_ > kLongest) return;
        double_length();
        return count(divide_down(stretch, 2), event, function, samples, weight);
    }
    index_.insert(hash, static_cast<std::uint32_t>(rows_.size()));
    rows_.push_back({.stretch = stretch, .event = event, .function = function, .samples = samples, .weight = weight});
}

void MomentSums::double_length() {
    const auto rows = std::exchange(rows_, {});
    index_.clear();
    length_ *= 2;
    for (const Row& row : rows) count(divide_down(row.stretch, 2), row.event, row.function, row.samples, row.weight);
}

// Each function once per stretch, most weight first; a last stretch of less than half the length goes to the one
// before.
std::vector<MomentSums::Row> MomentSums::sorted_rows() const {
    auto rows = rows_;
    if (rows.empty()) return rows;
    const auto [low, high] = std::ranges::minmax(rows, {}, &Row::stretch);
    const std::int64_t last = high.stretch;
    if (last > low.stretch && last_ - (origin_ + last * length_) < length_ / 2) {
        for (Row& row : rows) row.stretch -= row.stretch == last ? 1 : 0;
    }
    const auto key = [](const Row& row) { return std::tuple(row.stretch, row.event, row.function); };
    std::ranges::sort(rows, {}, key);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (key(rows[kept]) == key(rows[i])) {
            rows[kept].samples += rows[i].samples;
            rows[kept].weight += rows[i].weight;
        } else {
            rows[++kept] = rows[i];
        }
    }
    rows.resize(kept + 1);
    std::ranges::sort(rows, [](const Row& a, const Row& b) {
        if (a.stretch != b.stretch) return a.stretch < b.stretch;
        if (a.event != b.event) return a.event < b.event;
        return a.weight != b.weight ? a.weight > b.weight : a.function < b.function;
    });
    return rows;
}

std::vector<ProfileMoment> MomentSums::build(std::size_t events) const {
    const auto rows = sorted_rows();
    std::vector<ProfileMoment> moments;
    if (rows.empty()) return moments;
    const std::int64_t last = rows.back().stretch;
    Nanoseconds end = first_;
    const auto begin_moment = [&](std::int64_t stretch) {
        ProfileMoment& moment = moments.emplace_back();
        moment.totals.resize(events);
        const Nanoseconds start = std::exchange(end, stretch == last ? last_ : origin_ + (stretch + 1) * length_);
        moment.length = end - start;
    };
    std::int64_t current = rows.front().stretch - 1;
    std::size_t in_event = 0;
    for (const Row& row : rows) {
        if (row.stretch != current) {
            if (row.stretch - current > kMostSilent) current = row.stretch - 2;
            while (++current < row.stretch) begin_moment(current);
            begin_moment(row.stretch);
        }
        ProfileMoment& moment = moments.back();
        if (row.function == kNone) {
            moment.totals[row.event].samples = row.samples;
            moment.totals[row.event].weight = row.weight;
            continue;
        }
        in_event = !moment.top.empty() && moment.top.back().event == row.event ? in_event + 1 : 1;
        if (in_event > kTopFunctions) continue;
        moment.top.push_back(
            {.event = row.event, .function = row.function, .samples = row.samples, .weight = row.weight});
    }
    return moments;
}

}  // namespace perfvigil::analyzer
