// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/hot_functions.hpp"

#include <algorithm>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/name_pattern.hpp"

namespace perfvigil::analyzer {
namespace {

// Frames without a name that follow one another in one binary say no more than one of them.
bool says_nothing_new(const Profile& profile, std::uint32_t function, std::uint32_t before) {
    return function == before && profile.functions[function].reason != UnknownReason::kNone;
}

// Samples by what they have to do with the hot functions, in one pass over the profile.
class Surroundings {
public:
    Surroundings(const Profile& profile, std::size_t hot)
        : profile_(profile), number_(profile.functions.size(), kNotHot), hot_(hot) {}

    void watch(std::uint32_t function, std::size_t number) { number_[function] = static_cast<std::uint32_t>(number); }

    void add(const ProfileStack& stack, const ProfileSample& sample) {
        const auto& functions = stack.functions;
        if (functions.empty()) return;
        if (const auto leaf = number_[functions.front()]; leaf != kNotHot) {
            path_.clear();
            for (std::size_t i = 1; i < functions.size(); ++i) {
                if (!says_nothing_new(profile_, functions[i], functions[i - 1])) path_.push_back(functions[i]);
            }
            hot_[leaf].callers.add(path_, sample.samples, sample.weight);
        }
        for (auto at = functions.size() - 1; at > 0; --at) {
            const auto number = number_[functions[at]];
            if (number == kNotHot) continue;
            // What the outermost call of a recursion called directly; the recursion itself is no callee.
            auto& hot = hot_[number];
            if (hot.counted == &sample || functions[at - 1] == functions[at]) continue;
            hot.counted = &sample;
            auto& callee = hot.callees[functions[at - 1]];
            callee.function = functions[at - 1];
            callee.samples += sample.samples;
            callee.weight += sample.weight;
        }
    }

    void hand_over(std::size_t number, const PathLimits& limits, HotFunction& into) {
        into.callers = call_paths(hot_[number].callers.build(), limits);
        for (const auto& [function, callee] : hot_[number].callees) into.callees.push_back(callee);
        std::ranges::sort(into.callees, [](const HotFunction::Callee& a, const HotFunction::Callee& b) {
            return a.weight != b.weight ? a.weight > b.weight : a.function < b.function;
        });
    }

private:
    static constexpr std::uint32_t kNotHot = 0xffffffff;
    struct Hot {
        CallTreeBuilder callers;
        boost::unordered_flat_map<std::uint32_t, HotFunction::Callee> callees;
        const ProfileSample* counted = nullptr;
    };
    const Profile& profile_;
    std::vector<std::uint32_t> number_;  // by function
    std::vector<Hot> hot_;
    std::vector<std::uint32_t> path_;
};

}  // namespace

std::vector<HotFunction> hot_functions(const Profile& profile, std::uint32_t event, IdleRows idle,
                                       const std::vector<FunctionTotals>& totals, std::size_t most, double least_weight,
                                       const PathLimits& limits) {
    std::vector<HotFunction> hot;
    for (const auto& row : totals) {
        if (hot.size() == most || row.self_samples == 0) break;
        if (static_cast<double>(row.self_weight) < least_weight) break;
        hot.push_back({.totals = row});
    }
    Surroundings surroundings(profile, hot.size());
    for (std::size_t i = 0; i < hot.size(); ++i) surroundings.watch(hot[i].totals.function, i);
    for (const auto& sample : profile.samples) {
        if (sample.event != event || (sample.idle && idle == IdleRows::kExclude)) continue;
        surroundings.add(profile.stacks[sample.stack], sample);
    }
    for (std::size_t i = 0; i < hot.size(); ++i) surroundings.hand_over(i, limits, hot[i]);
    return hot;
}

std::vector<Focus> focus_on(Profile profile, const std::string& pattern, IdleRows idle, const PathLimits& limits) {
    std::vector<std::uint32_t> found;
    std::vector<bool> is_found(profile.functions.size());
    for (std::uint32_t i = 0; i < is_found.size(); ++i) {
        const auto& function = profile.functions[i];
        is_found[i] =
            matches(pattern, function.name) ||
            std::ranges::any_of(function.variants, [&](const auto& symbol) { return matches(pattern, symbol); });
        if (is_found[i]) found.push_back(i);
    }
    std::vector<Focus> result(profile.events.size());
    if (found.empty()) return result;
    for (auto& stack : profile.stacks) {
        auto& functions = stack.functions;
        for (auto& function : functions) function = is_found[function] ? found.front() : function;
        const auto last =
            std::ranges::unique(functions, [&](auto a, auto b) { return says_nothing_new(profile, b, a); });
        functions.erase(last.begin(), last.end());
    }
    for (std::uint32_t event = 0; event < result.size(); ++event) {
        const auto totals = function_totals(profile, event, idle);
        const auto row = std::ranges::find(totals, found.front(), &FunctionTotals::function);
        if (row == totals.end()) continue;
        auto& focus = result[event];
        focus.functions = found;
        focus.totals = *row;
        focus.callers = call_paths(caller_tree(profile, event, found.front(), CallsOf::kTotal, idle), limits);
        focus.callees = call_paths(callee_tree(profile, event, found.front(), idle), limits);
    }
    return result;
}

std::string focus_matches_nothing(const Profile& profile, const std::string& pattern) {
    constexpr std::size_t kNamesShown = 5;
    boost::unordered_flat_map<std::string_view, std::uint64_t> sums;
    for (const auto& sample : profile.samples) {
        for (const auto function : profile.stacks[sample.stack].functions) {
            sums[profile.functions[function].name] += sample.samples;
        }
    }
    std::vector<KnownName> known;
    for (const auto& [name, samples] : sums) known.push_back({name, samples});
    std::string text = option_text("--focus", {pattern}) + " matches no function";
    const char* separator = "; there is ";
    for (const auto name : near_names(pattern, known, kNamesShown)) {
        text += separator + std::string(name);
        separator = ", ";
    }
    return text + ".";
}

}  // namespace perfvigil::analyzer
