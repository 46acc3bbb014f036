// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/broken_stacks.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

class Counting {
public:
    explicit Counting(const Profile& profile) : profile_(profile), dsos_(profile.functions.size(), kNone) {
        boost::unordered_flat_map<std::string_view, std::uint32_t> numbers;
        for (std::size_t i = 0; i < profile.functions.size(); ++i) {
            const auto& function = profile.functions[i];
            if (function.kernel || function.reason == UnknownReason::kUnmapped || function.dso.empty()) continue;
            const auto [at, added] = numbers.emplace(function.dso, static_cast<std::uint32_t>(rows_.size()));
            if (added) rows_.push_back({.dso = function.dso, .samples = 0, .broken = 0});
            dsos_[i] = at->second;
        }
        seen_.assign(rows_.size(), 0);
    }

    void add(const ProfileStack& stack, std::uint64_t samples) {
        ++turn_;
        std::uint32_t outermost = kNone;
        for (const auto function : stack.functions) {
            const std::uint32_t dso = dsos_[function];
            if (dso == kNone) continue;
            outermost = dso;
            if (seen_[dso] == turn_) continue;
            seen_[dso] = turn_;
            rows_[dso].samples += samples;
        }
        if ((stack.flags & kStackBroken) != 0 && outermost != kNone) rows_[outermost].broken += samples;
    }

    [[nodiscard]] std::vector<BrokenStacks> rows() {
        std::erase_if(rows_, [](const BrokenStacks& row) { return row.samples == 0; });
        return std::move(rows_);
    }

private:
    const Profile& profile_;
    std::vector<std::uint32_t> dsos_;  // by function
    std::vector<BrokenStacks> rows_;
    std::vector<std::uint64_t> seen_;
    std::uint64_t turn_ = 0;
};

}  // namespace

std::vector<BrokenStacks> broken_stacks(const Profile& profile) {
    const auto is_clock = [](const ProfileEvent& event) { return event.unit == WeightUnit::kNanoseconds; };
    const bool has_clock = std::ranges::any_of(profile.events, is_clock);
    std::vector<std::uint64_t> samples(profile.stacks.size());
    for (const auto& sample : profile.samples) {
        if (!has_clock || is_clock(profile.events[sample.event])) samples[sample.stack] += sample.samples;
    }
    Counting counting(profile);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        if (samples[i] != 0) counting.add(profile.stacks[i], samples[i]);
    }
    return counting.rows();
}

}  // namespace perfvigil::analyzer
