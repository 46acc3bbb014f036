// SPDX-License-Identifier: GPL-2.0-or-later
// Lines of a text of any size, one after another, in the memory of one block. Line ends may be LF or CRLF, the last one
// may be missing; a byte order mark and NULs are passed over. A line longer than the block is cut, and counted.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/input/byte_source.hpp"

namespace perfvigil::analyzer {

class TextLines {
public:
    static constexpr std::size_t kMostBytes = 1U << 20;  // of one line

    explicit TextLines(ByteSource& source) : source_(source), block_(kMostBytes) {}

    // False at the end. `line` is valid until the next call.
    [[nodiscard]] bool next(std::string_view& line) {
        const auto* end = static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
        if (end == nullptr) return next_beyond_block(line);
        hand_out(line, end);
        at_ = end + 1;
        return true;
    }
    [[nodiscard]] std::uint64_t number() const { return number_; }  // of the last line, from 1
    [[nodiscard]] std::uint64_t cut_lines() const { return cut_lines_; }
    // What ended the text before its end.
    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

private:
    void hand_out(std::string_view& line, const char* end) {
        ++number_;
        line = {at_, static_cast<std::size_t>(end - at_)};
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    }
    [[nodiscard]] bool next_beyond_block(std::string_view& line);
    [[nodiscard]] bool refill();
    void skip_rest_of_line();

    ByteSource& source_;
    std::vector<char> block_;
    const char* at_ = block_.data();
    const char* end_ = block_.data();
    std::uint64_t number_ = 0;
    std::uint64_t cut_lines_ = 0;
    std::optional<Error> failure_;
    bool first_ = true;
    bool cut_ = false;  // what follows is the rest of a line that was cut
    bool ended_ = false;
};

}  // namespace perfvigil::analyzer
