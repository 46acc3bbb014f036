// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/report_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::array<std::string_view, 7> kPercentColumns{"Overhead", "Children",  "Self",     "sys",
                                                          "usr",      "guest sys", "guest usr"};

bool is_percent_column(std::string_view name) {
    return std::ranges::find(kPercentColumns, name) != kPercentColumns.end();
}

// "12.34%" (by hand where -t leaves the sign out, "12.34"); negative numbers and "nan%" are none.
std::optional<double> percent_of(std::string_view text, bool sign_needed) {
    if (!text.empty() && text.back() == '%')
        text.remove_suffix(1);
    else if (sign_needed)
        return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e6) return std::nullopt;
    return value;
}

std::string_view first_word(std::string_view& text) {
    text = text.substr(std::min(text.find_first_not_of(' '), text.size()));
    const auto word = text.substr(0, text.find(' '));
    text = text.substr(word.size());
    return word;
}

// The end of the column's name in a header: two blanks, or the line's end.
std::vector<std::string_view> split_by_two_blanks(std::string_view text) {
    std::vector<std::string_view> pieces;
    while (!text.empty()) {
        const auto start = text.find_first_not_of(' ');
        if (start == std::string_view::npos) break;
        text = text.substr(start);
        const auto end = std::min(text.find("  "), text.size());
        pieces.push_back(trim(text.substr(0, end)));
        text = text.substr(end);
    }
    return pieces;
}

}  // namespace

void ReportTable::set_columns(const std::vector<std::string_view>& names) {
    percent_columns_.clear();
    columns_.clear();
    for (const auto name : names) {
        if (columns_.empty() && is_percent_column(name))
            percent_columns_.emplace_back(name);
        else
            columns_.emplace_back(name);
    }
}

bool ReportTable::take_header(std::string_view line) {
    if (!line.starts_with("#")) return false;
    const auto text = trim(line.substr(1));
    const auto first = std::ranges::find_if(kPercentColumns, [&](std::string_view name) {
        return text.starts_with(name) && (text.size() == name.size() || text[name.size()] != ':');
    });
    if (first == kPercentColumns.end()) return false;
    auto behind = text.substr(first->size());
    const auto blanks = std::min(behind.find_first_not_of(' '), behind.size());
    separator_ = '\0';
    // With -t the separator follows the name, perhaps after the blanks that fill the column.
    if (blanks < behind.size() && std::isalnum(static_cast<unsigned char>(behind[blanks])) == 0 &&
        behind[blanks] != '-' && behind[blanks] != '(') {
        separator_ = behind[blanks];
    }
    header_ = line;
    starts_.clear();
    first_end_ = 0;
    std::vector<std::string_view> names;
    if (separator_ == '\0') {
        names = split_by_two_blanks(text);
    } else {
        for (const auto piece : split(text, separator_)) names.push_back(trim(piece));
    }
    set_columns(names);
    return true;
}

bool ReportTable::take_dots(std::string_view line) {
    if (header_.empty() || separator_ != '\0' || !line.starts_with("#") ||
        line.find_first_not_of("#. ") != std::string_view::npos || line.find("..") == std::string_view::npos) {
        return false;
    }
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    for (std::size_t at = line.find('.'); at != std::string_view::npos; at = line.find('.', runs.back().second)) {
        runs.emplace_back(at, std::min(line.find_first_not_of('.', at), line.size()));
    }
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::size_t start = std::min(runs[i].first, header_.size());
        const std::size_t end = i + 1 < runs.size() ? std::min(runs[i + 1].first, header_.size()) : header_.size();
        names.push_back(trim(std::string_view(header_).substr(start, end - start)));
    }
    set_columns(names);
    if (percent_columns_.empty()) return false;
    first_end_ = runs.front().second;
    starts_.clear();
    for (std::size_t i = percent_columns_.size(); i < runs.size(); ++i) starts_.push_back(runs[i].first);
    return true;
}

std::optional<ReportRow> ReportTable::separated_row(std::string_view line) const {
    ReportRow row;
    for (std::size_t i = 0; i < percent_columns_.size(); ++i) {
        const auto percent = percent_of(trim(next_piece(line, separator_)), false);
        if (!percent) return std::nullopt;
        row.percents.push_back(*percent);
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        // perf writes '.' for a separator inside a value; what is left is the last column's.
        row.cells.push_back(trim(i + 1 < columns_.size() ? next_piece(line, separator_) : line));
    }
    return row;
}

bool ReportTable::split_by_place(std::string_view line, std::vector<std::string_view>& cells) const {
    if (starts_.empty()) return columns_.empty();
    for (const auto start : starts_) {
        // A cell wider than its column moves all that follow.
        if (start >= line.size() || line[start - 1] != ' ' || line[start - 2] != ' ') return false;
    }
    for (std::size_t i = 0; i < starts_.size(); ++i) {
        const auto end = i + 1 < starts_.size() ? starts_[i + 1] : line.size();
        cells.push_back(trim(line.substr(starts_[i], end - starts_[i])));
    }
    return true;
}

void ReportTable::split_by_blanks(std::string_view rest, std::vector<std::string_view>& cells) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        rest = trim(rest);
        const auto end = i + 1 < columns_.size() ? std::min(rest.find("  "), rest.size()) : rest.size();
        cells.push_back(trim(rest.substr(0, end)));
        rest = rest.substr(end);
    }
}

std::optional<ReportRow> ReportTable::row(std::string_view line, std::size_t members) const {
    if (!known() || line.empty() || line.front() == '#') return std::nullopt;
    if (separator_ != '\0') return separated_row(line);
    if (line.front() != ' ') return std::nullopt;  // -g folded: a chain
    // Chains hang from the rows, further to the right.
    if (members == 1 && first_end_ != 0 && (line.size() < first_end_ || line[first_end_ - 1] != '%'))
        return std::nullopt;
    ReportRow row;
    std::string_view rest = line;
    for (std::size_t i = 0; i < percent_columns_.size() * members; ++i) {
        const auto word = first_word(rest);
        const auto percent = percent_of(word, true);
        if (!percent && word != "nan%" && word != "-nan%") return std::nullopt;
        row.percents.push_back(percent.value_or(0));
    }
    if (!split_by_place(line, row.cells)) {
        row.cells.clear();
        split_by_blanks(rest, row.cells);
    }
    return row;
}

}  // namespace perfvigil::analyzer
