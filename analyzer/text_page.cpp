// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/text_page.hpp"

#include <cmath>

#include <fmt/core.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {

void TextPage::line(std::string_view text) {
    text_ += text;
    text_ += '\n';
}

void TextPage::table(const TextTable& table) { text_ += table.render(width_); }

void TextPage::sentence(std::string_view text, std::size_t indent, std::size_t hanging) {
    text_ += wrapped(text, width_, indent, hanging);
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent, std::size_t hanging) {
    std::string out(indent, ' ');
    std::size_t used = indent;
    bool first = true;
    while (!text.empty()) {
        const auto word = next_piece(text, ' ');
        const auto columns = display_width(word);
        if (!first && width != 0 && used + 1 + columns > width) {
            out += '\n' + std::string(indent + hanging, ' ');
            used = indent + hanging;
        } else if (!first) {
            out += ' ';
            ++used;
        }
        out += word;
        used += columns;
        first = false;
    }
    return out + '\n';
}

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.2f}", 100.0 * part / whole) : "-"; }

std::string percent(std::uint64_t part, std::uint64_t whole) {
    return percent(static_cast<double>(part), static_cast<double>(whole));
}

std::string seconds(std::int64_t ns) {
    // "-0.000" would read as a finding.
    const double value = static_cast<double>(ns) / 1e9;
    return fmt::format("{:.3f}", std::abs(value) < 0.0005 ? 0.0 : value);
}

}  // namespace perfvigil::analyzer
