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

    // `narrow`: the header in lines ("idle un-\nsampled"), used where the table would be too wide otherwise.
    TextTable& column(std::string header, Align align, std::string narrow = {});
    void row(std::vector<std::string> cells);  // as many as there are columns
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }

    // Each line indented by two blanks; header underlined by nothing. `width` 0: lines are not cut. A last column of
    // names is cut to the width; a table of numbers alone moves together instead.
    [[nodiscard]] std::string render(std::size_t width) const;

private:
    struct Column {
        std::string header;
        Align align;
        std::string narrow;
    };
    using Line = std::vector<std::string>;  // cells

    [[nodiscard]] std::string render_with(const std::vector<Line>& headers, std::string_view gap,
                                          std::size_t width) const;
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// Columns a text takes on a terminal: code points of valid UTF-8 (wide ones count as one).
[[nodiscard]] std::size_t display_width(std::string_view text);
// At most `width` columns; what is cut in the middle is shown as "…".
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);

}  // namespace perfvigil::analyzer
