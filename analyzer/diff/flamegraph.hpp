// SPDX-License-Identifier: GPL-2.0-or-later
// Two profiles as one flame graph: a frame is as wide as its mean share of both sides, so what vanished is seen as well
// as what is new; red where its share grew, blue where it shrank. A picture to look around in: what of it may be chance
// is the comparison's to say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/call_tree.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// The stacks of one event of both sides in one tree. Weights are in the unit of `after`, each side scaled to half of
// what that weighs; samples are both sides' together.
struct DiffTree {
    CallTree tree;
    std::vector<ProfileFunction> functions;  // what the tree's functions are
    // Shares of each side, by node.
    std::vector<double> before;
    std::vector<double> after;
};
[[nodiscard]] DiffTree diff_tree(const Profile& before, std::uint32_t event_before, const Profile& after,
                                 std::uint32_t event_after);

// A file of its own (SVG).
[[nodiscard]] std::string diff_flamegraph(const Profile& before, std::uint32_t event_before, const Profile& after,
                                          std::uint32_t event_after);

}  // namespace perfvigil::analyzer
