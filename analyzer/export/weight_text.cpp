// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/weight_text.hpp"

#include <array>
#include <string_view>

#include <fmt/core.h>

namespace perfvigil::analyzer {
namespace {

// Three digits that count, and the step's name.
template <std::size_t N>
std::string scaled(std::uint64_t value, const std::array<std::string_view, N>& steps) {
    auto number = static_cast<double>(value);
    std::size_t step = 0;
    while (number >= 999.5 && step + 1 < N) {
        number /= 1000;
        ++step;
    }
    if (step == 0) return fmt::format("{} {}", value, steps[0]);
    const int digits = number < 9.995 ? 2 : (number < 99.95 ? 1 : 0);
    return fmt::format("{:.{}f} {}", number, digits, steps[step]);
}

}  // namespace

std::string weight_text(WeightUnit unit, std::uint64_t weight) {
    using Steps = std::array<std::string_view, 5>;
    switch (unit) {
        case WeightUnit::kNanoseconds: return scaled(weight, std::array<std::string_view, 4>{"ns", "µs", "ms", "s"});
        case WeightUnit::kCycles:
            return scaled(weight, Steps{"cycles", "k cycles", "M cycles", "G cycles", "T cycles"});
        case WeightUnit::kEvents: break;
    }
    return scaled(weight, Steps{"events", "k events", "M events", "G events", "T events"});
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    return fmt::format("{:.2f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace perfvigil::analyzer
