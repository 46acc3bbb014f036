// SPDX-License-Identifier: GPL-2.0-or-later
// The source lines of single addresses of one ELF file, from its DWARF line tables. The only place that knows libdw.
// The file may lie about everything; what takes too long or too much is ended by the process's limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace perfvigil::analyzer {

struct LineTables {
    struct Row {
        std::uint32_t file = 0;  // number in `files` plus one; 0: unknown
        std::uint32_t line = 0;
    };
    bool debug_info = false;
    std::vector<Row> rows;  // as the addresses
    std::vector<std::string> files;
};

// `addresses`: link addresses, strictly ascending.
[[nodiscard]] LineTables read_line_tables(int fd, const std::vector<std::uint64_t>& addresses);

// Answers the addresses at the head of `question` behind them (lines_format.hpp). kExhausted: over `max_bytes`.
[[nodiscard]] Result<void> answer_lines(int question, int file, std::uint64_t max_bytes);

}  // namespace perfvigil::analyzer
