// SPDX-License-Identifier: GPL-2.0-or-later
// Symbols as a linker leaves them (aliases at one address, labels inside functions, sizes missing or overlapping) made
// into ranges that do not overlap, so that an address has one answer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {

struct FunctionSymbol {
    std::uint64_t start = 0;
    std::uint64_t size = 0;   // 0: unknown, reaches to the next symbol or to `limit`
    std::uint64_t limit = 0;  // end of its section
    std::string_view name;
    bool weak = false;
    bool global = false;
    bool label = false;  // no function by type: counts only where no function covers it
    bool stub = false;   // jumps to the function of that name in another file: "name@plt"
};

// Whether `a` is the name to show of two symbols at one address: the choice is perf's (symbol.c, choose_best_symbol):
// with a size, not weak, global, fewer leading underscores, longer name.
[[nodiscard]] bool better_name(const FunctionSymbol& a, const FunctionSymbol& b);

struct FunctionRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;     // exclusive, > start
    std::uint32_t symbol = 0;  // index into the symbols as they are after the call
};

// Ascending and disjoint. A range inside a longer one interrupts it. Sorts `symbols` and drops those that lost.
[[nodiscard]] std::vector<FunctionRange> disjoint_ranges(std::vector<FunctionSymbol>& symbols);

}  // namespace perfvigil::analyzer
