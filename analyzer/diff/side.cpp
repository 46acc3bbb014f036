// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/side.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
// More of the profile than this in no slice: the slices are of something else.
constexpr double kMostUnlisted = 0.01;

// The keys that a sample counts under, each once.
class KeysOf {
public:
    KeysOf(const Profile& profile, DiffBy by, DiffKeys& keys)
        : profile_(profile), by_(by), keys_(keys), functions_(profile.functions.size(), kUnasked) {}

    std::span<const std::uint32_t> of(const ProfileSample& sample) {
        found_.clear();
        const auto& stack = profile_.stacks[sample.stack].functions;
        const auto& context = profile_.contexts[sample.context];
        switch (by_) {
            case DiffBy::kFunction:
                if (!stack.empty()) take(function(stack.front()));
                break;
            case DiffBy::kTotal:
                for (const auto number : stack) take(function(number));
                std::ranges::sort(found_);
                found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
                break;
            case DiffBy::kDso:
                if (!stack.empty()) take(dso(profile_.functions[stack.front()]));
                break;
            case DiffBy::kComm: take(keys_.number(context.comm, {}, false)); break;
            case DiffBy::kUnit: take(keys_.number(context.unit, {}, false)); break;
            case DiffBy::kContainer: take(keys_.number(context.container, {}, false)); break;
        }
        return found_;
    }

private:
    static constexpr std::uint32_t kUnasked = kNone - 1;

    void take(std::uint32_t key) {
        if (key != kNone) found_.push_back(key);
    }
    // An address without a name is no thing that could be found again on the other side.
    std::uint32_t function(std::uint32_t number) {
        std::uint32_t& key = functions_[number];
        if (key != kUnasked) return key;
        const auto& function = profile_.functions[number];
        key = function.reason == UnknownReason::kNone
                  ? keys_.number(function.name, base_name(function.dso), function.kernel)
                  : kNone;
        return key;
    }
    std::uint32_t dso(const ProfileFunction& function) {
        return function.reason == UnknownReason::kUnmapped ? kNone : keys_.number(base_name(function.dso), {}, false);
    }

    const Profile& profile_;
    DiffBy by_;
    DiffKeys& keys_;
    std::vector<std::uint32_t> functions_;  // their keys
    std::vector<std::uint32_t> found_;
};

}  // namespace

std::uint32_t DiffKeys::number(std::string_view name, std::string_view dso, bool kernel) {
    std::string all(name);
    all += '\0';
    all += dso;
    all += kernel ? '\1' : '\0';
    const auto [at, added] = numbers_.emplace(std::move(all), static_cast<std::uint32_t>(keys_.size()));
    if (added) keys_.push_back({.name = std::string(name), .dso = std::string(dso), .kernel = kernel});
    return at->second;
}

void DiffCount::add(const ProfileSample& sample) {
    const auto of_sample = static_cast<double>(sample.weight);
    samples += sample.samples;
    weight += of_sample;
    if (sample.samples > 0) squares += of_sample * of_sample / static_cast<double>(sample.samples);
}

DiffSide::DiffSide(const Profile& profile, std::uint32_t event, DiffBy by, DiffKeys& keys) {
    count_samples(profile, event, by, keys);
    read_slices(profile, event);
}

void DiffSide::count_samples(const Profile& profile, std::uint32_t event, DiffBy by, DiffKeys& keys) {
    KeysOf keys_of(profile, by, keys);
    own_.assign(profile.functions.size() + 1, 0);  // the last: samples without a stack
    boost::unordered_flat_map<std::uint64_t, double> parts;
    for (const auto& sample : profile.samples) {
        if (sample.event != event || sample.idle) continue;
        whole_.add(sample);
        const auto& stack = profile.stacks[sample.stack].functions;
        const auto function = stack.empty() ? static_cast<std::uint32_t>(profile.functions.size()) : stack.front();
        own_[function] += static_cast<double>(sample.weight);
        const auto found = keys_of.of(sample);
        if (found.empty()) unresolved_.add(sample);
        for (const auto key : found) {
            if (key >= counts_.size()) counts_.resize(key + 1);
            counts_[key].add(sample);
            parts[(std::uint64_t{key} << 32U) | function] += static_cast<double>(sample.weight);
        }
    }
    parts_.reserve(parts.size());
    for (const auto& [which, weight] : parts) {
        parts_.push_back({.key = static_cast<std::uint32_t>(which >> 32U),
                          .function = static_cast<std::uint32_t>(which),
                          .weight = weight});
    }
    std::ranges::sort(parts_, {}, [](const Part& part) { return std::pair(part.key, part.function); });
}

void DiffSide::read_slices(const Profile& profile, std::uint32_t event) {
    listed_.resize(own_.size());
    listed_sum_.assign(own_.size(), 0);
    for (const auto& moment : profile.moments) {
        if (moment.length.count() <= 0) continue;
        const auto slice = static_cast<std::uint32_t>(seconds_.size());
        seconds_.push_back(to_seconds(moment.length));
        std::size_t rows = 0;
        double least = 0;
        for (const auto& row : moment.top) {
            if (row.event != event || row.function >= profile.functions.size()) continue;
            const auto weight = static_cast<double>(row.weight);
            listed_[row.function].push_back({.slice = slice, .weight = weight});
            listed_sum_[row.function] += weight;
            least = rows++ == 0 ? weight : std::min(least, weight);
        }
        last_row_.push_back(rows >= kTopFunctions ? least : 0);
    }
    if (seconds_.empty()) {
        return drop_slices(fmt::format("{} has no slices: {}", escape(profile.id),
                                       profile.filter.empty() ? "it does not say when its samples were taken"
                                                              : "a selection by name cannot divide them"));
    }
    if (seconds_.size() < kFewestSlices) {
        return drop_slices(fmt::format("{} has {} slice{}, and it takes {} to see what varies between them",
                                       escape(profile.id), seconds_.size(), seconds_.size() == 1 ? "" : "s",
                                       kFewestSlices));
    }
    if (!slices_fit()) {
        return drop_slices(
            fmt::format("the slices of {} hold something else than what was selected of it", escape(profile.id)));
    }
    Series all{.weights = std::vector<double>(seconds_.size()), .unseen_variance = 0};
    for (std::uint32_t function = 0; function < own_.size(); ++function) {
        if (own_[function] > 0) add_function(function, 1, all);
    }
    weights_ = std::move(all.weights);
}

bool DiffSide::slices_fit() {
    // A selection takes functions out of a profile, or some of their samples; its slices hold all.
    for (std::uint32_t function = 0; function < own_.size(); ++function) {
        if (own_[function] == 0) {
            listed_[function].clear();
            listed_sum_[function] = 0;
        } else if (listed_sum_[function] > own_[function] * (1 + 1e-9)) {
            return false;
        }
    }
    const bool any_full = std::ranges::any_of(last_row_, [](double weight) { return weight > 0; });
    if (any_full) return true;
    double unlisted = 0;
    for (std::size_t function = 0; function < own_.size(); ++function)
        unlisted += own_[function] - listed_sum_[function];
    return unlisted <= whole_.weight * kMostUnlisted;
}

void DiffSide::drop_slices(std::string why) {
    problem_ = std::move(why);
    seconds_.clear();
    weights_.clear();
}

// Adds this share of a function's weights.
void DiffSide::add_function(std::uint32_t function, double share, Series& into) const {
    for (const auto& [slice, weight] : listed_[function]) into.weights[slice] += share * weight;
    const double rest = own_[function] - listed_sum_[function];
    if (rest <= own_[function] * 1e-12) return;
    std::vector<double> room(seconds_.size());
    double where = 0;  // seconds of slices that may hold it
    const auto give_room = [&](std::size_t slice) {
        room[slice] = seconds_[slice];
        where += seconds_[slice];
    };
    for (std::size_t slice = 0; slice < room.size(); ++slice) {
        if (last_row_[slice] > 0) give_room(slice);
    }
    for (const auto& listed : listed_[function]) where -= std::exchange(room[listed.slice], 0);
    if (!(where > 0)) {
        where = 0;
        for (std::size_t slice = 0; slice < room.size(); ++slice) give_room(slice);
    }
    for (std::size_t slice = 0; slice < room.size(); ++slice) {
        const double weight = rest * room[slice] / where;
        into.weights[slice] += share * weight;
        into.unseen_variance += share * share * std::max(0.0, weight * (last_row_[slice] - weight));
    }
}

DiffSide::Series DiffSide::series(std::uint32_t key) const {
    Series series{.weights = std::vector<double>(seconds_.size()), .unseen_variance = 0};
    if (seconds_.empty()) return series;
    const auto parts = std::ranges::equal_range(parts_, key, {}, &Part::key);
    for (const Part& part : parts) {
        if (own_[part.function] > 0) add_function(part.function, part.weight / own_[part.function], series);
    }
    return series;
}

}  // namespace perfvigil::analyzer
