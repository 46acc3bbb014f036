// SPDX-License-Identifier: GPL-2.0-or-later
// Profiles made of numbers alone: how many samples each function has in each slice. For comparisons whose truth is
// known because the test drew it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::test {

using SliceCounts = std::vector<std::vector<std::uint64_t>>;  // by slice, by function

struct CountedProfile {
    std::string id = "counted";
    Nanoseconds slice = std::chrono::seconds(5);
    std::uint64_t period = 10'101'010;
    std::size_t kept = analyzer::kTopFunctions;  // rows per slice
    std::uint64_t idle = 0;                      // idle samples per slice
};

// One event "cpu-clock"; function i is "function_i" of /usr/bin/program, its stack is "main" above it.
[[nodiscard]] analyzer::Profile counted_profile(const SliceCounts& counts, const CountedProfile& how = {});

// How a load's slices vary: each function's share is multiplied by a log-normal factor of this spread, drawn anew
// partly (1 − persistence) in each slice.
struct LoadModel {
    std::vector<double> shares;
    std::size_t slices = 20;
    std::uint64_t samples_per_slice = 500;
    double spread = 0;
    double persistence = 0;
};
[[nodiscard]] SliceCounts draw_counts(const LoadModel& model, std::mt19937_64& random);

}  // namespace perfvigil::test
