// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/call_tree.hpp"

#include <algorithm>
#include <ranges>
#include <span>

namespace perfvigil::analyzer {
namespace {

// Each counted sample of the event with its stack, innermost function first.
template <class Visit>
void each_stack(const Profile& profile, std::uint32_t event, IdleRows idle, Visit&& visit) {
    for (const auto& sample : profile.samples) {
        if (sample.event != event || (sample.idle && idle == IdleRows::kExclude)) continue;
        visit(std::span(profile.stacks[sample.stack].functions), sample);
    }
}

// The position of the function's outermost occurrence, else the size.
std::size_t outermost(std::span<const std::uint32_t> stack, std::uint32_t function) {
    const auto reversed = stack | std::views::reverse;
    const auto found = std::ranges::find(reversed, function);
    return found == reversed.end() ? stack.size()
                                   : stack.size() - 1 - static_cast<std::size_t>(found - reversed.begin());
}

}  // namespace

std::uint32_t CallTreeBuilder::child(std::uint32_t parent, std::uint32_t function) {
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto [at, added] = by_edge_.emplace((std::uint64_t{parent} << 32U) | function, next);
    if (added) {
        CallNode node;
        node.function = function;
        node.parent = parent;
        node.depth = nodes_[parent].depth + 1;
        nodes_.push_back(std::move(node));
    }
    return at->second;
}

CallTree CallTreeBuilder::build() {
    for (std::uint32_t i = 1; i < nodes_.size(); ++i) nodes_[nodes_[i].parent].children.push_back(i);
    CallTree tree;
    for (auto& node : nodes_) {
        std::ranges::sort(node.children, [this](std::uint32_t a, std::uint32_t b) {
            if (nodes_[a].weight != nodes_[b].weight) return nodes_[a].weight > nodes_[b].weight;
            return nodes_[a].function < nodes_[b].function;
        });
        tree.deepest_ = std::max<std::size_t>(tree.deepest_, node.depth);
    }
    tree.nodes_ = std::move(nodes_);
    nodes_ = std::vector<CallNode>(1);
    by_edge_.clear();
    return tree;
}

CallTree stack_tree(const Profile& profile, std::uint32_t event, IdleRows idle) {
    CallTreeBuilder builder;
    each_stack(profile, event, idle, [&](std::span<const std::uint32_t> stack, const ProfileSample& sample) {
        builder.add(stack | std::views::reverse, sample.samples, sample.weight);
    });
    return builder.build();
}

CallTree caller_tree(const Profile& profile, std::uint32_t event, std::uint32_t function, CallsOf calls,
                     IdleRows idle) {
    CallTreeBuilder builder;
    each_stack(profile, event, idle, [&](std::span<const std::uint32_t> stack, const ProfileSample& sample) {
        const bool sampled_in = !stack.empty() && stack.front() == function;
        const std::size_t at = calls == CallsOf::kTotal ? outermost(stack, function) : (sampled_in ? 0 : stack.size());
        if (at == stack.size()) return;
        builder.add(stack.subspan(at + 1), sample.samples, sample.weight);
    });
    return builder.build();
}

CallTree callee_tree(const Profile& profile, std::uint32_t event, std::uint32_t function, IdleRows idle) {
    CallTreeBuilder builder;
    each_stack(profile, event, idle, [&](std::span<const std::uint32_t> stack, const ProfileSample& sample) {
        const std::size_t at = outermost(stack, function);
        if (at == stack.size()) return;
        builder.add(stack.first(at) | std::views::reverse, sample.samples, sample.weight);
    });
    return builder.build();
}

}  // namespace perfvigil::analyzer
