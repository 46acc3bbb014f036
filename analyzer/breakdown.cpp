// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/breakdown.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>

namespace perfvigil::analyzer {
namespace {

// The key a sample counts under; nullopt: not part of this division.
std::optional<std::string_view> key_of(const Profile& profile, const ProfileSample& sample, Dimension dimension) {
    const auto& context = profile.contexts[sample.context];
    switch (dimension) {
        case Dimension::kComm: return context.comm;
        case Dimension::kUnit: return context.unit;
        case Dimension::kContainer: return context.container;
        case Dimension::kDso:
        case Dimension::kUnknown: break;
    }
    const auto& stack = profile.stacks[sample.stack].functions;
    if (stack.empty()) {
        return dimension == Dimension::kDso ? std::string_view("[unknown]") : reason_name(UnknownReason::kUnmapped);
    }
    const auto& leaf = profile.functions[stack.front()];
    if (dimension == Dimension::kDso) return leaf.dso;
    if (leaf.reason == UnknownReason::kNone) return std::nullopt;
    return reason_name(leaf.reason);
}

}  // namespace

std::vector<Share> breakdown(const Profile& profile, std::uint32_t event, Dimension dimension, IdleRows idle) {
    boost::unordered_flat_map<std::string_view, Share> shares;
    for (const auto& sample : profile.samples) {
        if (sample.event != event || (sample.idle && idle == IdleRows::kExclude)) continue;
        const auto key = key_of(profile, sample, dimension);
        if (!key) continue;
        auto& share = shares[*key];
        share.key = *key;
        share.samples += sample.samples;
        share.weight += sample.weight;
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
