// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/flamegraph.hpp"

#include <cmath>
#include <ranges>

#include <fmt/core.h>
#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/breakdown.hpp"
#include "analyzer/chain_ends.hpp"
#include "analyzer/diff/side.hpp"
#include "analyzer/export/flamegraph.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using Path = std::vector<std::uint32_t>;

class TreeOfBoth {
public:
    TreeOfBoth(const Profile& before, std::uint32_t event_before, const Profile& after, std::uint32_t event_after)
        : before_(before), event_before_(event_before), after_(after), event_after_(event_after) {}

    DiffTree make() {
        const double whole_after = whole(after_, event_after_);
        const double whole_before = whole(before_, event_before_);
        CallTreeBuilder builder;
        const auto add = [&](const Profile& profile, std::uint32_t event, double scale) {
            each_path(profile, event, [&](const Path& path, const ProfileSample& sample) {
                const double weight = static_cast<double>(sample.weight) * scale;
                builder.add(path, sample.samples, static_cast<std::uint64_t>(std::llround(weight)));
            });
        };
        if (whole_before > 0) add(before_, event_before_, whole_after / whole_before / 2);
        add(after_, event_after_, 0.5);
        made_.tree = builder.build();
        find_edges();
        share_out(before_, event_before_, whole_before, made_.before);
        share_out(after_, event_after_, whole_after, made_.after);
        return std::move(made_);
    }

private:
    static double whole(const Profile& profile, std::uint32_t event) {
        return static_cast<double>(event_sum(profile.events[event], IdleRows::kExclude).weight);
    }

    // Outermost function first, in numbers that both sides share.
    template <class Visit>
    void each_path(const Profile& profile, std::uint32_t event, Visit&& visit) {
        std::vector<std::uint32_t> numbers;
        for (const auto& function : profile.functions) numbers.push_back(number(function));
        Path path;
        for (const auto& sample : profile.samples) {
            if (sample.event != event || sample.idle) continue;
            path.clear();
            for (const auto function : profile.stacks[sample.stack].functions | std::views::reverse) {
                path.push_back(numbers[function]);
            }
            visit(path, sample);
        }
    }

    std::uint32_t number(const ProfileFunction& function) {
        // Unnamed code of one binary is one frame, whatever the reason.
        const bool named = function.reason == UnknownReason::kNone;
        const auto key = keys_.number(named ? function.name : "", base_name(function.dso), function.kernel);
        if (key == made_.functions.size()) made_.functions.push_back(function);
        return key;
    }

    void find_edges() {
        const auto& nodes = made_.tree.nodes();
        for (std::uint32_t node = 1; node < nodes.size(); ++node) {
            edges_.emplace((std::uint64_t{nodes[node].parent} << 32U) | nodes[node].function, node);
        }
    }

    void share_out(const Profile& profile, std::uint32_t event, double whole, std::vector<double>& shares) {
        shares.assign(made_.tree.nodes().size(), 0);
        if (!(whole > 0)) return;
        each_path(profile, event, [&](const Path& path, const ProfileSample& sample) {
            const double share = static_cast<double>(sample.weight) / whole;
            std::uint32_t node = 0;
            shares[node] += share;
            for (const auto function : path) {
                node = edges_.at((std::uint64_t{node} << 32U) | function);
                shares[node] += share;
            }
        });
    }

    const Profile& before_;
    std::uint32_t event_before_;
    const Profile& after_;
    std::uint32_t event_after_;
    DiffTree made_;
    DiffKeys keys_;
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> edges_;
};

// −1 … 1: how much of what both sides have is the change. New and vanished frames are at the ends.
double tint(double before, double after) { return before + after > 0 ? (after - before) / (after + before) : 0; }

}  // namespace

DiffTree diff_tree(const Profile& before, std::uint32_t event_before, const Profile& after, std::uint32_t event_after) {
    return TreeOfBoth(before, event_before, after, event_after).make();
}

std::string diff_flamegraph(const Profile& plain_before, std::uint32_t event_before, const Profile& plain_after,
                            std::uint32_t event_after) {
    // Stacks without their outer callers must not pass for whole ones.
    const Profile before = with_marked_ends(plain_before, MarkedEnds::kUnrooted);
    const Profile after = with_marked_ends(plain_after, MarkedEnds::kUnrooted);
    const DiffTree both = diff_tree(before, event_before, after, event_after);
    const auto describe = [&](std::uint32_t node) -> FlameFrame {
        const auto& function = both.functions[both.tree.nodes()[node].function];
        const double in_before = both.before[node];
        const double in_after = both.after[node];
        return {.name = frame_name(function),
                .detail = fmt::format("{}\n{:.2f} % before, {:.2f} % after: {:+.2f} points", function.dso,
                                      100 * in_before, 100 * in_after, 100 * (in_after - in_before)),
                .colour = change_colour(tint(in_before, in_after))};
    };
    FlamegraphOptions options;
    options.title = fmt::format("{} against {}", after.id, before.id);
    options.subtitle = fmt::format("{}: width is the mean share of both sides", after.events[event_after].name);
    options.unit = after.events[event_after].unit;
    options.legend = {{"only before", change_colour(-1)},
                      {"less", change_colour(-0.3)},
                      {"the same", change_colour(0)},
                      {"more", change_colour(0.3)},
                      {"only after", change_colour(1)}};
    return flamegraph_file(both.tree, describe, options);
}

}  // namespace perfvigil::analyzer
