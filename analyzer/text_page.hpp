// SPDX-License-Identifier: GPL-2.0-or-later
// The page a text report is written on: lines, tables and sentences of one width, and numbers as they all show them.
// Knows no profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/text_table.hpp"

namespace perfvigil::analyzer {

class TextPage {
public:
    explicit TextPage(std::size_t width) : width_(width) {}  // 0: lines are neither cut nor broken

    [[nodiscard]] std::size_t width() const { return width_; }
    [[nodiscard]] bool narrow() const { return width_ != 0 && width_ < 100; }

    void line(std::string_view text);
    void table(const TextTable& table);
    // A sentence, its later lines indented by `hanging` more than its first.
    void sentence(std::string_view text, std::size_t indent, std::size_t hanging = 2);

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::size_t width_;
    std::string text_;
};

// Breaks at blanks so that no line is wider than `width` (0: never), except for words that are wider themselves.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width, std::size_t indent, std::size_t hanging);

[[nodiscard]] std::string percent(double part, double whole);  // "12.34"; "-" of nothing
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole);
[[nodiscard]] std::string seconds(std::int64_t ns);  // "1.234"

}  // namespace perfvigil::analyzer
