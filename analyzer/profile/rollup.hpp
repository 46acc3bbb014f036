// SPDX-License-Identifier: GPL-2.0-or-later
// What a profile of a longer time gives up, so that a store can hold months: call chains that hardly weigh anything,
// and the grain of its timeline. All that is counted stays exactly as it was: samples, weights, ledgers, units,
// containers.
//
//   a;b;c;leaf  4 of 100 000  ─▶  (pruned);leaf   the leaf weighs enough by itself, so its own share stays right
//   a;b;x;rare  1 of 100 000  ─▶  (pruned)
//
// Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

inline constexpr std::string_view kPruned = "(pruned)";

struct RollupLimits {
    // Of an event's weight, idle and not idle apart: what chains, functions and commands under it become kPruned.
    double least_share = 0.0001;
    std::size_t moments = 30;     // neighbours become one where there are more
    std::size_t sentences = 100;  // of warnings, notes and degraded modes each; the first ones stay
};

// What was pruned before stays so: rolling up what is already rolled up is allowed.
void roll_up(Profile& profile, const RollupLimits& limits = {});

}  // namespace perfvigil::analyzer
