// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/call_paths.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <ranges>

namespace perfvigil::analyzer {
namespace {

class Condenser {
public:
    Condenser(const CallTree& tree, const PathLimits& limits)
        : nodes_(tree.nodes()), limits_(limits), least_(limits.least_share * static_cast<double>(tree.root().weight)) {}

    CallPaths run() {
        offer_children(0, kTop, 0);
        while (!waiting_.empty() && lines_.size() < limits_.most_rows) {
            const Candidate next = waiting_.top();
            waiting_.pop();
            accept(next);
        }
        CallPaths paths;
        const auto& root = nodes_.front();
        paths.root_end_samples = root.self_samples;
        paths.root_end_weight = root.self_weight;
        paths.hidden_samples = root.samples - root.self_samples;
        paths.hidden_weight = root.weight - root.self_weight;
        for (const auto line : top_) {
            paths.hidden_samples -= lines_[line].row.samples;
            paths.hidden_weight -= lines_[line].row.weight;
        }
        hand_over(paths);
        return paths;
    }

private:
    static constexpr std::uint32_t kTop = CallNode::kNone;

    struct Line {
        PathRow row;
        std::uint32_t tail = 0;
        std::vector<std::uint32_t> below;  // lines
    };
    struct Candidate {
        std::uint64_t weight = 0;
        std::uint32_t node = 0;
        std::uint32_t parent_line = kTop;
        std::uint32_t depth = 0;

        bool operator<(const Candidate& other) const {
            // Of equal weight the one that comes first in the tree.
            return weight != other.weight ? weight < other.weight : node > other.node;
        }
    };

    [[nodiscard]] bool visible(std::uint32_t node) const { return static_cast<double>(nodes_[node].weight) >= least_; }

    void offer_children(std::uint32_t node, std::uint32_t line, std::uint32_t depth) {
        if (depth >= limits_.most_depth) return;
        for (const auto child : nodes_[node].children) {
            if (visible(child)) waiting_.push({nodes_[child].weight, child, line, depth});
        }
    }

    void accept(const Candidate& candidate) {
        const auto number = static_cast<std::uint32_t>(lines_.size());
        Line line;
        line.row.depth = candidate.depth;
        line.row.samples = nodes_[candidate.node].samples;
        line.row.weight = nodes_[candidate.node].weight;
        std::optional<std::uint32_t> at = candidate.node;
        while (at) {
            line.tail = *at;
            line.row.functions.push_back(nodes_[*at].function);
            line.row.end_samples += nodes_[*at].self_samples;
            line.row.end_weight += nodes_[*at].self_weight;
            at = next_in_run(candidate.node, *at);
        }
        lines_.push_back(std::move(line));
        (candidate.parent_line == kTop ? top_ : lines_[candidate.parent_line].below).push_back(number);
        offer_children(lines_[number].tail, number, candidate.depth + 1);
    }

    [[nodiscard]] std::optional<std::uint32_t> next_in_run(std::uint32_t head, std::uint32_t at) const {
        const auto& children = nodes_[at].children;
        if (children.empty()) return std::nullopt;
        const auto heaviest = children.front();
        if (limits_.runs == PathLimits::Runs::kExact) {
            return children.size() == 1 && nodes_[at].self_samples == 0 ? std::optional(heaviest) : std::nullopt;
        }
        const auto aside = nodes_[head].weight - nodes_[heaviest].weight;
        const bool small = aside == 0 ? children.size() == 1 : static_cast<double>(aside) < least_;
        return small ? std::optional(heaviest) : std::nullopt;
    }

    void hand_over(CallPaths& paths) {
        std::vector<std::uint32_t> waiting(top_.rbegin(), top_.rend());
        while (!waiting.empty()) {
            Line& line = lines_[waiting.back()];
            waiting.pop_back();
            line.row.goes_on = line.below.empty() && !nodes_[line.tail].children.empty();
            std::ranges::copy(line.below | std::views::reverse, std::back_inserter(waiting));
            paths.rows.push_back(std::move(line.row));
        }
    }

    const std::vector<CallNode>& nodes_;
    const PathLimits& limits_;
    const double least_;
    std::priority_queue<Candidate> waiting_;
    std::vector<Line> lines_;
    std::vector<std::uint32_t> top_;  // lines below the root
};

}  // namespace

CallPaths call_paths(const CallTree& tree, const PathLimits& limits) { return Condenser(tree, limits).run(); }

}  // namespace perfvigil::analyzer
