// SPDX-License-Identifier: GPL-2.0-or-later
// A table of an HTML report. Cells are markup already; numbers stand to the right, and a reader with JavaScript may
// sort by any column. Knows no profile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {

class HtmlTable {
public:
    enum class Kind : std::uint8_t { kNumber, kText };

    HtmlTable& column(std::string_view title, Kind kind);
    void row(const std::vector<std::string>& cells);  // as many as there are columns
    [[nodiscard]] bool empty() const { return body_.empty(); }
    [[nodiscard]] std::string render() const;

private:
    struct Column {
        std::string title;
        Kind kind;
    };
    std::vector<Column> columns_;
    std::string body_;
};

// A share as a number over a bar of its length.
[[nodiscard]] std::string html_share(double part, double whole);
[[nodiscard]] std::string html_element(std::string_view tag, std::string_view content);

// Style and script of the page; the script only adds sorting.
[[nodiscard]] std::string_view report_style();
[[nodiscard]] std::string_view report_script();

}  // namespace perfvigil::analyzer
