// SPDX-License-Identifier: GPL-2.0-or-later
// Where in the sources the instructions of one file come from, as perfvigil-symbols found it (lines_format.hpp). The
// answer comes from a process that read hostile input, so it is checked whole before a word of it is believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

struct SourceLine {
    std::string file;  // as the compiler was given it, escaped
    std::uint32_t line = 0;

    friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

class SourceLines {
public:
    // `answer`: what follows the `asked` addresses in the memfd.
    [[nodiscard]] static Result<SourceLines> from_bytes(Bytes answer, std::vector<LinkAddress> asked);

    // Of a file that has debug information; ascending by address.
    [[nodiscard]] static SourceLines from_rows(const std::vector<std::pair<LinkAddress, SourceLine>>& rows);

    // Those of the `size` addresses from `start` on.
    [[nodiscard]] SourceLines part(LinkAddress start, std::uint64_t size) const;

    [[nodiscard]] std::optional<SourceLine> find(LinkAddress address) const;
    [[nodiscard]] bool has_debug_info() const { return has_debug_info_; }

private:
    struct Row {
        std::uint32_t file = 0;  // plus one
        std::uint32_t line = 0;
    };
    std::vector<LinkAddress> addresses_;  // ascending
    std::vector<Row> rows_;
    std::vector<std::string> files_;
    bool has_debug_info_ = false;
};

}  // namespace perfvigil::analyzer
