// SPDX-License-Identifier: GPL-2.0-or-later
// Which calls were inlined around single addresses of one ELF file, from its DWARF. As line_tables.hpp: the file may
// lie about everything; what takes too long or too much is ended by the process's limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/symbols/module_question.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct InlinedCalls {
    struct Frame {
        std::uint32_t function = 0;  // numbers in `names` plus one; 0: unknown
        std::uint32_t file = 0;
        std::uint32_t line = 0;
    };
    std::uint32_t flags = 0;            // InlinedFlag
    BuildId alt;                        // of the file that holds what several files share
    std::vector<std::uint32_t> counts;  // as the addresses: of their frames
    std::vector<Frame> frames;          // one address after the other, innermost first
    std::vector<std::string> names;
    // Where the debug information of units lies that is not in this file: the first of those files, and how many.
    std::vector<std::string> split_files;
    std::uint32_t split_units = 0;
};

// `addresses`: link addresses, strictly ascending. `alt`: the shared file (dwz), -1 where there is none.
[[nodiscard]] InlinedCalls read_inlined_calls(int fd, int alt, const std::vector<std::uint64_t>& addresses);
// Of a kernel module whose sections lie as given, by runtime addresses.
[[nodiscard]] InlinedCalls read_module_calls(int fd, const std::vector<PlacedSection>& sections,
                                             const std::vector<std::uint64_t>& addresses);

// Answers the addresses at the head of `question` behind them (inlined_format.hpp). kExhausted: over `max_bytes`.
[[nodiscard]] Result<void> answer_inlined(int question, int file, int alt, std::uint64_t max_bytes);
// The same of a kernel module; its sections stand in front of the addresses (module_question.hpp).
[[nodiscard]] Result<void> answer_inlined_in_module(int question, int file, std::uint64_t max_bytes);

}  // namespace perfvigil::analyzer
