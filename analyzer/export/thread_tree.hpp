// SPDX-License-Identifier: GPL-2.0-or-later
// The stacks of one event as a tree whose first level is the threads' names, as collapsed stacks have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/call_tree.hpp"

namespace perfvigil::analyzer {

struct ThreadTree {
    CallTree tree;  // CallNode::function from `first_thread` on: threads[function - first_thread]
    std::uint32_t first_thread = 0;
    std::vector<std::string> threads;

    [[nodiscard]] bool is_thread(const CallNode& node) const { return node.function >= first_thread; }
    [[nodiscard]] const std::string& thread_of(const CallNode& node) const {
        return threads[node.function - first_thread];
    }
};

[[nodiscard]] ThreadTree thread_tree(const Profile& profile, std::uint32_t event, IdleRows idle);

}  // namespace perfvigil::analyzer
