// SPDX-License-Identifier: GPL-2.0-or-later
// Executes the instructions of frame entries: from (CIE, FDE) to the rule that holds at each address, and from all
// entries of a file to one table of rows without overlaps. Equal rules are kept once; a file has some hundreds of them
// and many thousands of rows. Pure; bounded by limits.
// Source: DWARF 5 section 6.4.2, with the GNU and arm64 extensions.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/symbols/child/unwind_entries.hpp"
#include "analyzer/symbols/unwind_format.hpp"

namespace perfvigil::analyzer {

struct CodeRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // exclusive
};

struct UnwindRows {
    std::uint64_t base = 0;
    std::vector<std::uint32_t> starts;  // strictly ascending
    std::vector<std::uint32_t> rules;   // as starts
    // unwind_format.hpp, "rules", "registers" and "expressions"
    std::vector<std::byte> rule_bytes;
    std::vector<std::byte> register_bytes;
    std::vector<std::byte> expressions;
    std::uint32_t flags = 0;  // UnwindTableFlag
};

// What the entries say of code in `code`. Where two speak of the same code, the earlier one of the list is believed.
[[nodiscard]] UnwindRows unwind_rows(const FrameEntries& entries, UnwindMachine machine,
                                     const std::vector<CodeRange>& code, std::size_t max_rows);

}  // namespace perfvigil::analyzer
