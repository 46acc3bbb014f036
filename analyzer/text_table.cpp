// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/text_table.hpp"

#include <algorithm>
#include <cassert>

#include "base/text.hpp"

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

TextTable& TextTable::column(std::string header, Align align, std::string narrow) {
    columns_.push_back({std::move(header), align, std::move(narrow)});
    return *this;
}

void TextTable::row(std::vector<std::string> cells) {
    assert(cells.size() == columns_.size());
    rows_.push_back(std::move(cells));
}

std::string TextTable::render(std::size_t width) const {
    if (columns_.empty()) return {};
    Line header;
    for (const auto& column : columns_) header.push_back(column.header);
    auto wide = render_with({header}, kGap, width);
    if (width == 0 || display_width(std::string_view(wide).substr(0, wide.find('\n'))) <= width) return wide;

    std::vector<std::vector<std::string_view>> parts;
    std::size_t height = 1;
    for (const auto& column : columns_) {
        parts.push_back(split(column.narrow.empty() ? column.header : column.narrow, '\n'));
        height = std::max(height, parts.back().size());
    }
    std::vector<Line> headers(height, Line(columns_.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto first = height - parts[i].size();
        for (std::size_t k = 0; k < parts[i].size(); ++k) headers[first + k][i] = parts[i][k];
    }
    return render_with(headers, " ", width);
}

std::string TextTable::render_with(const std::vector<Line>& headers, std::string_view gap, std::size_t width) const {
    std::vector<std::size_t> widths(columns_.size());
    const auto widen = [&](const Line& line) {
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], display_width(line[i]));
    };
    for (const auto& line : headers) widen(line);
    for (const auto& line : rows_) widen(line);
    std::size_t before_last = kIndent.size();
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + gap.size();
    constexpr std::size_t kLeastName = 16;
    const auto last_width = width == 0 ? std::string::npos : std::max(width - std::min(width, before_last), kLeastName);

    std::string out;
    const auto emit = [&](const Line& cells) {
        const auto start = out.size();
        out += kIndent;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool last = i + 1 == columns_.size();
            if (last && columns_[i].align == Align::kLeft) {
                out += shorten(cells[i], last_width);
            } else {
                append_cell(out, cells[i], widths[i], columns_[i].align);
                if (!last) out += gap;
            }
        }
        out.erase(std::max(start, out.find_last_not_of(' ') + 1));
        out += '\n';
    };
    for (const auto& line : headers) emit(line);
    for (const auto& line : rows_) emit(line);
    return out;
}

}  // namespace perfvigil::analyzer
