// SPDX-License-Identifier: GPL-2.0-or-later
// The stacks of one event merged into a tree: from the roots for a flame graph, from one function outwards for its
// callers, inwards for its callees. A pure function of a Profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct CallNode {
    static constexpr std::uint32_t kNone = 0xffffffffU;

    std::uint32_t function = kNone;  // into Profile::functions; kNone at the root
    std::uint32_t parent = kNone;
    std::uint32_t depth = 0;         // the root's is 0
    std::uint64_t self_samples = 0;  // of paths that end here
    std::uint64_t self_weight = 0;
    std::uint64_t samples = 0;  // of paths that end here or below
    std::uint64_t weight = 0;
    std::vector<std::uint32_t> children;  // heaviest first, then in the order of functions
};

class CallTree {
public:
    // Node 0 is the root; a parent stands before its children.
    [[nodiscard]] const std::vector<CallNode>& nodes() const { return nodes_; }
    [[nodiscard]] const CallNode& root() const { return nodes_.front(); }
    [[nodiscard]] std::size_t deepest() const { return deepest_; }

private:
    friend class CallTreeBuilder;
    std::vector<CallNode> nodes_;
    std::size_t deepest_ = 0;
};

// Paths in, a tree out.
class CallTreeBuilder {
public:
    CallTreeBuilder() { nodes_.emplace_back(); }

    // `path`: any range of function numbers, the root's child first.
    template <class Path>
    void add(const Path& path, std::uint64_t samples, std::uint64_t weight) {
        std::uint32_t at = 0;
        count(at, samples, weight);
        for (const std::uint32_t function : path) {
            at = child(at, function);
            count(at, samples, weight);
        }
        nodes_[at].self_samples += samples;
        nodes_[at].self_weight += weight;
    }
    [[nodiscard]] CallTree build();

private:
    void count(std::uint32_t node, std::uint64_t samples, std::uint64_t weight) {
        nodes_[node].samples += samples;
        nodes_[node].weight += weight;
    }
    [[nodiscard]] std::uint32_t child(std::uint32_t parent, std::uint32_t function);

    std::vector<CallNode> nodes_;
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> by_edge_;  // parent and function → node
};

// Whole stacks, outermost function first. Samples without a stack end in the root.
[[nodiscard]] CallTree stack_tree(const Profile& profile, std::uint32_t event, IdleRows idle);

// Which samples a function's callers are counted by. Recursion: a sample counts once, at the function's outermost
// occurrence with kTotal.
enum class CallsOf : std::uint8_t {
    kSelf,   // sampled in the function itself
    kTotal,  // with the function anywhere in the stack
};
// The root stands for the function; its children are its callers, theirs the callers' callers.
[[nodiscard]] CallTree caller_tree(const Profile& profile, std::uint32_t event, std::uint32_t function, CallsOf calls,
                                   IdleRows idle);
// The root stands for the function's outermost occurrence; below it what it called. The root's self is its own code.
[[nodiscard]] CallTree callee_tree(const Profile& profile, std::uint32_t event, std::uint32_t function, IdleRows idle);

}  // namespace perfvigil::analyzer
