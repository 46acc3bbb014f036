// SPDX-License-Identifier: GPL-2.0-or-later
// Columns for a terminal: numbers to the right, names to the left, the last column cut to the width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {

class TextTable {
public:
    enum class Align : std::uint8_t { kLeft, kRight };

    TextTable& column(std::string header, Align align);
    void row(std::vector<std::string> cells);  // as many as there are columns
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }

    // Each line indented by two blanks; header underlined by nothing. `width` 0: lines are not cut.
    [[nodiscard]] std::string render(std::size_t width) const;

private:
    struct Column {
        std::string header;
        Align align;
    };
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// Columns a text takes on a terminal: code points of valid UTF-8 (wide ones count as one).
[[nodiscard]] std::size_t display_width(std::string_view text);
// At most `width` columns; what is cut in the middle is shown as "…".
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);

}  // namespace perfvigil::analyzer
