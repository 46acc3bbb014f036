// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/breakdown.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {
namespace {

bool is_of_context(Dimension dimension) {
    return dimension == Dimension::kComm || dimension == Dimension::kUnit || dimension == Dimension::kContainer;
}

std::string_view key_of(const ProfileContext& context, Dimension dimension) {
    if (dimension == Dimension::kComm) return context.comm;
    return dimension == Dimension::kUnit ? context.unit : context.container;
}

// Of the innermost function; nullptr: there is none. nullopt: not part of this division.
std::optional<std::string_view> key_of(const ProfileFunction* leaf, Dimension dimension) {
    if (dimension == Dimension::kDso) return leaf == nullptr ? std::string_view("[unknown]") : leaf->dso;
    if (leaf == nullptr) return reason_name(UnknownReason::kUnmapped);
    if (leaf->reason == UnknownReason::kNone) return std::nullopt;
    return reason_name(leaf->reason);
}

struct Counted {
    bool any = false;
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};

}  // namespace

std::vector<Share> breakdown(const Profile& profile, std::uint32_t event, Dimension dimension, IdleRows idle) {
    // By context, or by innermost function with one place more for stacks without any: there are far fewer of these
    // than samples, and only they have texts.
    const bool of_context = is_of_context(dimension);
    const std::size_t nobody = profile.functions.size();
    std::vector<Counted> counted(of_context ? profile.contexts.size() : nobody + 1);
    for (const auto& sample : profile.samples) {
        if (sample.event != event || (sample.idle && idle == IdleRows::kExclude)) continue;
        const auto& stack = profile.stacks[sample.stack].functions;
        auto& place = counted[of_context ? sample.context : stack.empty() ? nobody : stack.front()];
        place.any = true;
        place.samples += sample.samples;
        place.weight += sample.weight;
    }
    boost::unordered_flat_map<std::string_view, Share> shares;
    for (std::size_t i = 0; i < counted.size(); ++i) {
        if (!counted[i].any) continue;
        const auto key = of_context ? std::optional(key_of(profile.contexts[i], dimension))
                                    : key_of(i == nobody ? nullptr : &profile.functions[i], dimension);
        if (!key) continue;
        auto& share = shares[*key];
        share.key = *key;
        share.samples += counted[i].samples;
        share.weight += counted[i].weight;
    }
    std::vector<Share> rows;
    rows.reserve(shares.size());
    for (const auto& [key, share] : shares) rows.push_back(share);
    std::ranges::sort(rows, [](const Share& a, const Share& b) {
        return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
    });
    return rows;
}

EventSum event_sum(const ProfileEvent& event, IdleRows idle) {
    if (idle == IdleRows::kInclude) return {event.samples, event.weight};
    // A stored profile may claim more idle samples than samples.
    return {event.samples - std::min(event.samples, event.idle_samples),
            event.weight - std::min(event.weight, event.idle_weight)};
}

}  // namespace perfvigil::analyzer
