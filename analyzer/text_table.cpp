// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/text_table.hpp"

#include <algorithm>
#include <cassert>

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kGap = "  ";

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

// Byte position after the first `count` code points.
std::size_t prefix_bytes(std::string_view text, std::size_t count) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (starts_code_point(text[at]) && count-- == 0) break;
        ++at;
    }
    return at;
}

void append_cell(std::string& line, std::string_view cell, std::size_t width, TextTable::Align align) {
    const auto used = display_width(cell);
    const std::string blanks(width > used ? width - used : 0, ' ');
    if (align == TextTable::Align::kRight) line += blanks;
    line += cell;
    if (align == TextTable::Align::kLeft) line += blanks;
}

}  // namespace

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, starts_code_point));
}

std::string shorten(std::string_view text, std::size_t width) {
    const auto length = display_width(text);
    if (length <= width) return std::string(text);
    if (width == 0) return {};
    // The end of a qualified name tells more than its middle.
    const auto tail = (width - 1) / 2;
    const auto head = width - 1 - tail;
    return std::string(text.substr(0, prefix_bytes(text, head))) + "…" +
           std::string(text.substr(prefix_bytes(text, length - tail)));
}

TextTable& TextTable::column(std::string header, Align align) {
    columns_.push_back({std::move(header), align});
    return *this;
}

void TextTable::row(std::vector<std::string> cells) {
    assert(cells.size() == columns_.size());
    rows_.push_back(std::move(cells));
}

std::string TextTable::render(std::size_t width) const {
    if (columns_.empty()) return {};
    std::vector<std::size_t> widths;
    for (const auto& column : columns_) widths.push_back(display_width(column.header));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
    }
    std::size_t before_last = kIndent.size();
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + kGap.size();
    constexpr std::size_t kLeastName = 16;
    const auto last_width = width == 0 ? std::string::npos : std::max(width - std::min(width, before_last), kLeastName);

    std::string out;
    const auto emit = [&](const auto& cell_at) {
        std::string line(kIndent);
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool last = i + 1 == columns_.size();
            if (last && columns_[i].align == Align::kLeft) {
                line += shorten(cell_at(i), last_width);
            } else {
                append_cell(line, cell_at(i), widths[i], columns_[i].align);
                if (!last) line += kGap;
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    };
    emit([&](std::size_t i) -> const std::string& { return columns_[i].header; });
    for (const auto& row : rows_) emit([&](std::size_t i) -> const std::string& { return row[i]; });
    return out;
}

}  // namespace perfvigil::analyzer
