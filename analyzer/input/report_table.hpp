// SPDX-License-Identifier: GPL-2.0-or-later
// The table of `perf report --stdio`: which columns it has, and one row taken apart. Knows nothing of what the values
// mean. Columns are aligned (dots under the header say where) or separated by a character (-t).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {

struct ReportRow {
    std::vector<double> percents;         // from the left: one per column of percentages and member of the group
    std::vector<std::string_view> cells;  // of the other columns, by ReportTable::columns
};

class ReportTable {
public:
    // The line that names the columns, "# Overhead  Command  …"; false: it is another one.
    [[nodiscard]] bool take_header(std::string_view line);
    // "# ........  .....": where they stand; false: it is another line.
    [[nodiscard]] bool take_dots(std::string_view line);

    [[nodiscard]] bool known() const { return !percent_columns_.empty(); }
    [[nodiscard]] const std::vector<std::string>& percent_columns() const { return percent_columns_; }
    [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }  // the other ones

    // `members`: of the event group, each with its own percentage; nullopt: no row (a call chain, a blank line).
    [[nodiscard]] std::optional<ReportRow> row(std::string_view line, std::size_t members) const;

private:
    void set_columns(const std::vector<std::string_view>& names);
    [[nodiscard]] std::optional<ReportRow> separated_row(std::string_view line) const;
    [[nodiscard]] bool split_by_place(std::string_view line, std::vector<std::string_view>& cells) const;
    void split_by_blanks(std::string_view rest, std::vector<std::string_view>& cells) const;

    std::string header_;
    char separator_ = '\0';
    std::vector<std::string> percent_columns_;
    std::vector<std::string> columns_;
    std::vector<std::size_t> starts_;  // of columns_; empty where they are unknown
    std::size_t first_end_ = 0;        // behind the first column
};

}  // namespace perfvigil::analyzer
