// SPDX-License-Identifier: GPL-2.0-or-later
// A call tree made readable: functions that follow one another without a fork share a line, small paths are left out
// and counted, the heaviest lines win where there is room for few. Pure; knows no text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/call_tree.hpp"

namespace perfvigil::analyzer {

struct PathLimits {
    double least_share = 0.01;   // of the root's weight; lighter paths are left out
    std::size_t most_rows = 12;  // heaviest first
    std::size_t most_depth = 16;
    // A line goes on through a fork whose other paths together are under least_share.
    enum class Runs : std::uint8_t { kExact, kOverSmallForks } runs = Runs::kOverSmallForks;
};

// A line: one function after the other, away from the root.
struct PathRow {
    std::vector<std::uint32_t> functions;  // at least one
    std::uint32_t depth = 0;
    std::uint64_t samples = 0;  // through the first function
    std::uint64_t weight = 0;
    std::uint64_t end_samples = 0;  // of them: the stack ends within this line
    std::uint64_t end_weight = 0;
    bool goes_on = false;  // further functions follow, but no row shows them
};

struct CallPaths {
    std::vector<PathRow> rows;  // depth first, heavier first
    // Of the root: what no row of depth 0 shows, because the stack ends in the root or the path was left out.
    std::uint64_t root_end_samples = 0;
    std::uint64_t root_end_weight = 0;
    std::uint64_t hidden_samples = 0;
    std::uint64_t hidden_weight = 0;
};

[[nodiscard]] CallPaths call_paths(const CallTree& tree, const PathLimits& limits);

}  // namespace perfvigil::analyzer
