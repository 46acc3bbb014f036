// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/rollup.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile/compaction.hpp"
#include "analyzer/slice/moment_tables.hpp"
#include "analyzer/sums.hpp"

namespace perfvigil::analyzer {
namespace {

// What stands in for callers and functions; its Dso is that of frames which were not kept.
constexpr std::string_view kPrunedDso = "[cut]";

class Pruning {
public:
    Pruning(Profile& profile, double least_share) : profile_(profile), groups_(profile.events.size() * 2) {
        for (auto& group : groups_) {
            group.stacks.resize(profile.stacks.size());
            group.leaves.resize(profile.functions.size());
            group.contexts.resize(profile.contexts.size());
        }
        for (const auto& sample : profile.samples) {
            Group& group = group_of(sample);
            const auto weight = static_cast<double>(sample.weight);
            group.least += weight;
            group.stacks[sample.stack] += weight;
            group.contexts[sample.context] += weight;
            const auto& functions = profile.stacks[sample.stack].functions;
            if (!functions.empty()) group.leaves[functions.front()] += weight;
        }
        for (auto& group : groups_) group.least *= least_share;
    }

    void run() {
        pruned_ = pruned_function();
        prune_contexts();
        for (std::uint32_t i = 0; i < profile_.stacks.size(); ++i) number_of(profile_.stacks[i], i);
        Sums<ProfileSample> rows;
        for (const auto& sample : std::exchange(profile_.samples, {})) {
            ProfileSample moved = sample;
            moved.stack = stack_of(sample);
            moved.context = contexts_[sample.context];
            const std::uint64_t hash = mix(mix(hash_seed(), (std::uint64_t{moved.stack} << 32U) | moved.context),
                                           (std::uint64_t{moved.event} << 1U) | (moved.idle ? 1U : 0U));
            ProfileSample& row = rows.at(hash, [&](const ProfileSample& known) {
                return known.event == moved.event && known.stack == moved.stack && known.context == moved.context &&
                       known.idle == moved.idle;
            });
            moved.samples += row.samples;
            moved.weight += row.weight;
            row = moved;
        }
        profile_.samples = std::move(rows.rows());
        for (auto& moment : profile_.moments) prune_top(moment.top);
        drop_unused(profile_);
    }

private:
    // The samples of one event, idle ones or the others.
    struct Group {
        double least = 0;
        std::vector<double> stacks;
        std::vector<double> leaves;  // self, by function
        std::vector<double> contexts;
    };
    Group& group_of(const ProfileSample& sample) { return groups_[sample.event * 2 + (sample.idle ? 1 : 0)]; }

    std::uint32_t pruned_function() {
        const auto known = std::ranges::find_if(profile_.functions, [](const ProfileFunction& function) {
            return function.name == kPruned && function.dso == kPrunedDso;
        });
        if (known != profile_.functions.end()) return static_cast<std::uint32_t>(known - profile_.functions.begin());
        profile_.functions.push_back({.name = std::string(kPruned), .dso = std::string(kPrunedDso)});
        return static_cast<std::uint32_t>(profile_.functions.size() - 1);
    }

    // Commands come and go by the thousand; units and containers are what operators ask for and stay.
    void prune_contexts() {
        boost::unordered_flat_map<std::pair<std::string, std::string>, std::uint32_t> pruned;
        for (std::uint32_t i = 0; i < profile_.contexts.size(); ++i) {
            contexts_.push_back(i);
            auto& context = profile_.contexts[i];
            const bool weighs = std::ranges::any_of(
                groups_, [&](const Group& group) { return group.contexts[i] > 0 && group.contexts[i] >= group.least; });
            if (weighs || context.pid || context.tid || context.cpu) continue;
            context.comm.assign(kPruned);
            contexts_.back() = pruned.try_emplace({context.unit, context.container}, i).first->second;
        }
    }

    std::uint32_t stack_of(const ProfileSample& sample) {
        const Group& group = group_of(sample);
        const auto& stack = profile_.stacks[sample.stack];
        if (group.stacks[sample.stack] >= group.least || stack.functions.empty()) return sample.stack;
        const std::uint32_t leaf = stack.functions.front();
        const bool leaf_stays = group.leaves[leaf] >= group.least;
        if (leaf_stays && stack.functions.size() == 1) return sample.stack;
        ProfileStack made{.functions = {pruned_}, .flags = static_cast<std::uint8_t>(stack.flags | kStackCut)};
        if (leaf_stays && leaf != pruned_) made.functions.insert(made.functions.begin(), leaf);
        return number_of(made, static_cast<std::uint32_t>(profile_.stacks.size()));
    }

    // Short stacks only can be what others become.
    std::uint32_t number_of(const ProfileStack& stack, std::uint32_t fresh) {
        const bool is_new = fresh == profile_.stacks.size();
        if (stack.functions.empty() || stack.functions.size() > 2) return fresh;
        const std::uint64_t leaf = stack.functions.front();
        const std::uint64_t caller = stack.functions.size() == 2 ? stack.functions.back() + std::uint64_t{1} : 0;
        const auto [at, added] = short_stacks_.try_emplace({leaf << 8U | stack.flags, caller}, fresh);
        if (added && is_new) profile_.stacks.push_back(stack);
        return at->second;
    }

    // Rows of functions that have no weight of their own any more.
    void prune_top(TopFunctions& rows) {
        for (auto& row : rows) {
            const Group& group = groups_[row.event * 2];
            const double self = row.function < group.leaves.size() ? group.leaves[row.function] : 0;
            if (self > 0 && self < group.least) row.function = pruned_;
        }
        merge_rows(rows);
        keep_top(rows);
    }

    Profile& profile_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> contexts_;  // what each context became
    std::uint32_t pruned_ = 0;
    boost::unordered_flat_map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> short_stacks_;
};

// Neighbours become one until there are at most so many; a gap in the recording does not end one.
void coarsen(std::vector<ProfileMoment>& moments, std::size_t most) {
    if (most == 0 || moments.size() <= most) return;
    const std::size_t group = (moments.size() + most - 1) / most;
    std::vector<ProfileMoment> joined;
    for (std::size_t i = 0; i < moments.size(); ++i) {
        if (i % group == 0) {
            joined.push_back(std::move(moments[i]));
        } else {
            join_moments(joined.back(), std::move(moments[i]));
        }
    }
    for (auto& moment : joined) keep_top(moment.top);
    moments = std::move(joined);
}

template <class T>
void limit(std::vector<T>& sentences, std::size_t most) {
    if (sentences.size() > most)
        sentences.erase(sentences.begin() + static_cast<std::ptrdiff_t>(most), sentences.end());
}

}  // namespace

void roll_up(Profile& profile, const RollupLimits& limits) {
    Pruning(profile, limits.least_share).run();
    coarsen(profile.moments, limits.moments);
    limit(profile.warnings, limits.sentences);
    limit(profile.notes, limits.sentences);
    limit(profile.degraded, limits.sentences);
}

}  // namespace perfvigil::analyzer
