// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analyzer/doctor/gather.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

constexpr std::size_t kMostComms = 5;

// The event that stands for time: the clock, else the first.
std::uint32_t time_event(const Profile& profile) {
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        if (profile.events[i].unit == WeightUnit::kNanoseconds) return i;
    }
    return 0;
}

bool is_unread(UnknownReason reason) {
    return reason == UnknownReason::kNoFile || reason == UnknownReason::kBuildIdMismatch ||
           reason == UnknownReason::kUnreadable;
}

void count_kernel_part(const Profile& profile, const ProfileStack& stack, std::uint64_t samples, SampledFacts& facts) {
    std::size_t frames = 0;
    while (frames < stack.functions.size() && profile.functions[stack.functions[frames]].kernel) ++frames;
    if (frames == 0) return;
    facts.kernel_chains += samples;
    if (frames == 1) facts.short_kernel_chains += samples;
}

}  // namespace

SampledFacts sampled_facts(const Profile& profile) {
    SampledFacts facts;
    facts.length = profile.duration;
    std::map<std::string, SampledBinary> unnamed;
    std::map<std::string, SampledBinary> unread;
    std::set<std::string> comms;
    const std::uint32_t event = time_event(profile);
    for (const auto& sample : profile.samples) {
        if (sample.event != event || sample.idle) continue;
        facts.samples += sample.samples;
        const auto& stack = profile.stacks[sample.stack];
        if (stack.functions.empty()) continue;
        count_kernel_part(profile, stack, sample.samples, facts);
        const auto& leaf = profile.functions[stack.functions.front()];
        const auto count = [&](std::map<std::string, SampledBinary>& rows, bool bad) {
            auto& row = rows[leaf.dso];
            row.name = std::string(base_name(leaf.dso));
            row.samples += sample.samples;
            if (bad) row.bad += sample.samples;
        };
        count(unnamed, leaf.reason == UnknownReason::kNoSymbols);
        count(unread, is_unread(leaf.reason));
        if (leaf.reason == UnknownReason::kAnonymous) {
            facts.anonymous += sample.samples;
            if (comms.size() < kMostComms) comms.insert(profile.contexts[sample.context].comm);
        }
    }
    for (auto& [dso, row] : unnamed) facts.unnamed.push_back(std::move(row));
    for (auto& [dso, row] : unread) facts.unread.push_back(std::move(row));
    facts.anonymous_comms.assign(comms.begin(), comms.end());
    for (const auto& row : profile.broken) {
        facts.broken.push_back({std::string(base_name(row.dso)), row.samples, row.broken});
    }
    return facts;
}

}  // namespace perfvigil::analyzer::doctor
