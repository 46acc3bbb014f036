// SPDX-License-Identifier: GPL-2.0-or-later
// The hottest functions of an event with the paths that lead to them and what they call: what text, JSON and HTML all
// show as call chains. Frames without a name that follow one another in one binary are one. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/call_paths.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct HotFunction {
    FunctionTotals totals;
    CallPaths callers{};  // of the samples in the function itself
    struct Callee {
        std::uint32_t function = 0;
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
    };
    std::vector<Callee> callees{};  // called directly; of the samples with the function on the stack; heaviest first
};

// The first `most` of `totals` (function_totals) whose self weight is at least `least_weight`.
[[nodiscard]] std::vector<HotFunction> hot_functions(const Profile& profile, std::uint32_t event, IdleRows idle,
                                                     const std::vector<FunctionTotals>& totals, std::size_t most,
                                                     double least_weight, const PathLimits& limits);

// One function, or all that a pattern matches taken as one, seen from both sides.
struct Focus {
    std::vector<std::uint32_t> functions;  // empty: nothing of the event matches
    FunctionTotals totals;
    CallPaths callers;  // of the samples with it on the stack, at its outermost call
    CallPaths callees;  // of the same; what ends in the root is the function itself
};
// `pattern`: name_pattern.hpp. `profile` is taken by value: the functions become one in it.
[[nodiscard]] std::vector<Focus> focus_on(Profile profile, const std::string& pattern, IdleRows idle,
                                          const PathLimits& limits);  // by event
// "--focus x matches nothing; there is …"
[[nodiscard]] std::string focus_matches_nothing(const Profile& profile, const std::string& pattern);

}  // namespace perfvigil::analyzer
