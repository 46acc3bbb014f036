// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/compaction.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();

// Keeps those of `things` that are marked: where each stands now, or kGone.
template <class Things>
std::vector<std::uint32_t> keep_marked(Things& things, const std::vector<bool>& marked) {
    std::vector<std::uint32_t> now(things.size(), kGone);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < things.size(); ++i) {
        if (!marked[i]) continue;
        now[i] = kept;
        if (kept != i) things[kept] = std::move(things[i]);
        ++kept;
    }
    things.resize(kept);
    return now;
}

bool is_user_code(const ProfileFunction& function) {
    // What stands for addresses outside every Dso.
    return !function.kernel && function.reason != UnknownReason::kUnmapped && function.dso != "[guest]" &&
           function.dso != "[hypervisor]" && function.dso != "[cut]" && function.dso != kExcluded;
}

}  // namespace

void keep_events(Profile& profile, const std::function<bool(std::uint32_t)>& keeps) {
    const auto before = static_cast<std::uint32_t>(profile.events.size());
    std::vector<bool> marked(before);
    for (std::uint32_t i = 0; i < before; ++i) marked[i] = keeps(i);
    const auto now = keep_marked(profile.events, marked);
    std::erase_if(profile.samples, [&](const ProfileSample& sample) { return now[sample.event] == kGone; });
    for (auto& sample : profile.samples) sample.event = now[sample.event];
    for (auto& moment : profile.moments) {
        moment.totals.resize(before);
        keep_marked(moment.totals, marked);
        std::erase_if(moment.top, [&](const auto& row) { return row.event >= before || now[row.event] == kGone; });
        for (auto& row : moment.top) row.event = now[row.event];
    }
}

void drop_unused(Profile& profile) {
    std::vector<bool> stacks(profile.stacks.size());
    std::vector<bool> contexts(profile.contexts.size());
    std::vector<bool> functions(profile.functions.size());
    for (const auto& sample : profile.samples) stacks[sample.stack] = contexts[sample.context] = true;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        if (!stacks[i]) continue;
        for (const auto function : profile.stacks[i].functions) functions[function] = true;
    }
    for (const auto& moment : profile.moments) {
        for (const auto& row : moment.top) functions[row.function] = true;
    }
    const auto stack_now = keep_marked(profile.stacks, stacks);
    const auto context_now = keep_marked(profile.contexts, contexts);
    const auto function_now = keep_marked(profile.functions, functions);
    boost::unordered_flat_set<std::string_view> dsos;
    for (const auto& function : profile.functions) dsos.insert(function.dso);
    std::erase_if(profile.dsos, [&](const ProfileDso& dso) { return !dsos.contains(dso.name); });
    for (auto& sample : profile.samples) {
        sample.stack = stack_now[sample.stack];
        sample.context = context_now[sample.context];
    }
    for (auto& stack : profile.stacks) {
        for (auto& function : stack.functions) function = function_now[function];
    }
    for (auto& moment : profile.moments) {
        for (auto& row : moment.top) row.function = function_now[row.function];
    }
}

std::vector<BrokenStacks> broken_stacks_of(const Profile& profile) {
    const bool has_clock = std::ranges::any_of(
        profile.events, [](const ProfileEvent& event) { return event.unit == WeightUnit::kNanoseconds; });
    std::vector<std::uint64_t> samples(profile.stacks.size());
    for (const auto& sample : profile.samples) {
        if (has_clock && profile.events[sample.event].unit != WeightUnit::kNanoseconds) continue;
        samples[sample.stack] += sample.samples;
    }
    std::vector<BrokenStacks> rows;
    boost::unordered_flat_map<std::string_view, std::size_t> by_dso;
    std::vector<std::size_t> last_stack;  // by row: the last one that passed through the Dso, plus one
    for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
        if (samples[i] == 0) continue;
        std::size_t outermost = rows.size();
        bool any = false;
        for (const auto number : profile.stacks[i].functions) {
            const auto& function = profile.functions[number];
            if (!is_user_code(function)) continue;
            const auto row = by_dso.try_emplace(function.dso, rows.size()).first->second;
            if (row == rows.size()) {
                rows.push_back({.dso = function.dso});
                last_stack.push_back(0);
            }
            outermost = row;
            any = true;
            if (std::exchange(last_stack[row], i + 1) != i + 1) rows[row].samples += samples[i];
        }
        if (any && (profile.stacks[i].flags & kStackBroken) != 0) rows[outermost].broken += samples[i];
    }
    return rows;
}

}  // namespace perfvigil::analyzer
