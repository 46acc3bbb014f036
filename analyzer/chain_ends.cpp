// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/chain_ends.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/chain_roots.hpp"

namespace perfvigil::analyzer {
namespace {

// What calls main or starts a thread is often stripped or has no frame pointer of its own.
constexpr std::size_t kOutermost = 4;
constexpr std::uint8_t kMissingCallers = kStackBroken | kStackTruncated | kStackCut;

bool has_callers(const Profile& profile, std::uint32_t event) {
    return std::ranges::any_of(profile.samples, [&](const ProfileSample& sample) {
        return sample.event == event && !sample.idle && profile.stacks[sample.stack].functions.size() > 1;
    });
}

// A row for each binary, and the one of each function.
std::vector<std::uint32_t> rows_of_functions(const Profile& profile, std::vector<ChainEndCounts>& rows) {
    boost::unordered_flat_map<std::string_view, std::uint32_t> places;
    std::vector<std::uint32_t> row_of;
    row_of.reserve(profile.functions.size());
    for (const auto& function : profile.functions) {
        const auto [at, fresh] = places.try_emplace(function.dso, static_cast<std::uint32_t>(rows.size()));
        if (fresh) rows.push_back({.dso = function.dso});
        row_of.push_back(at->second);
    }
    return row_of;
}

std::string mark_of(ChainEnd end) { return '[' + std::string(chain_end_name(end)) + ']'; }

}  // namespace

std::string_view chain_end_name(ChainEnd end) {
    static constexpr std::array<std::string_view, kChainEnds> kNames{"rooted", "broken", "truncated", "shortened",
                                                                     "rootless"};
    return kNames[index_of(end)];
}

bool ChainEnds::is_root(std::uint32_t number) {
    Known& known = known_[number];
    if (known == Known::kUnasked) {
        const auto& function = profile_.functions[number];
        const bool root = function.kernel ? is_kernel_root(function.name) : is_user_root(function.name);
        known = root || function.dso == kExcluded ? Known::kRoot : Known::kNoRoot;
    }
    return known == Known::kRoot;
}

ChainEnd ChainEnds::of(const ProfileStack& stack) {
    // What we cut may have been broken or truncated too; nobody knows.
    if ((stack.flags & kStackCut) != 0) return ChainEnd::kShortened;
    if ((stack.flags & kStackBroken) != 0) return ChainEnd::kBroken;
    if ((stack.flags & kStackTruncated) != 0) return ChainEnd::kTruncated;
    const auto outermost = stack.functions | std::views::reverse | std::views::take(kOutermost);
    const bool rooted = std::ranges::any_of(outermost, [&](std::uint32_t function) { return is_root(function); });
    return rooted || starts_in_nameless_library(profile_, stack) ? ChainEnd::kRooted : ChainEnd::kRootless;
}

std::uint64_t ChainEndCounts::unrooted() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < kChainEnds; ++i) sum += ends[i];
    return sum;
}

std::vector<ChainEndCounts> chain_end_counts(const Profile& profile, std::uint32_t event) {
    if (!has_callers(profile, event)) return {};
    std::vector<std::uint64_t> samples(profile.stacks.size());
    for (const auto& sample : profile.samples) {
        if (sample.event == event && !sample.idle) samples[sample.stack] += sample.samples;
    }
    ChainEnds ends(profile);
    std::vector<ChainEndCounts> rows;
    const auto row_of = rows_of_functions(profile, rows);
    std::vector<std::size_t> counted(rows.size());  // by row: the stack that was counted last, plus one
    for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
        const auto& stack = profile.stacks[i];
        if (samples[i] == 0 || stack.functions.empty()) continue;
        for (const auto function : stack.functions) {
            if (std::exchange(counted[row_of[function]], i + 1) != i + 1) rows[row_of[function]].samples += samples[i];
        }
        rows[row_of[stack.functions.back()]].ends[index_of(ends.of(stack))] += samples[i];
    }
    std::erase_if(rows, [](const ChainEndCounts& row) { return row.unrooted() == 0; });
    std::ranges::stable_sort(rows, [](const ChainEndCounts& a, const ChainEndCounts& b) {
        return a.unrooted() != b.unrooted() ? a.unrooted() > b.unrooted() : a.dso < b.dso;
    });
    return rows;
}

std::optional<std::uint32_t> event_with_chains(const Profile& profile) {
    std::optional<std::uint32_t> found;
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        if (!has_callers(profile, i)) continue;
        if (profile.events[i].unit == WeightUnit::kNanoseconds) return i;
        if (!found) found = i;
    }
    return found;
}

Profile with_marked_ends(Profile profile, MarkedEnds marked) {
    ChainEnds ends(profile);
    std::array<std::optional<std::uint32_t>, kChainEnds> marks;
    std::vector<std::pair<std::size_t, ChainEnd>> found;
    for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
        const auto& stack = profile.stacks[i];
        const bool missing = (stack.flags & kMissingCallers) != 0;
        if (stack.functions.empty() || (!missing && (marked == MarkedEnds::kMissing || stack.functions.size() < 2))) {
            continue;
        }
        const auto end = ends.of(stack);
        // A text that was exported before has the mark already.
        const auto& outermost = profile.functions[stack.functions.back()].name;
        if (end == ChainEnd::kRooted || (outermost.starts_with('[') && outermost.ends_with(']') &&
                                         (outermost == mark_of(end) || (!missing && is_chain_end_mark(outermost))))) {
            continue;
        }
        found.emplace_back(i, end);
    }
    for (const auto& [stack, end] : found) {
        auto& mark = marks[index_of(end)];
        if (!mark) {
            mark = static_cast<std::uint32_t>(profile.functions.size());
            profile.functions.push_back({.name = mark_of(end), .dso = mark_of(end)});
        }
        profile.stacks[stack].functions.push_back(*mark);
    }
    return profile;
}

bool is_chain_end_mark(std::string_view name) {
    for (std::size_t i = 1; i < kChainEnds; ++i) {
        if (name == mark_of(static_cast<ChainEnd>(i))) return true;
    }
    return false;
}

}  // namespace perfvigil::analyzer
