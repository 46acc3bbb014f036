// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/line_faults.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kShown = 3;
constexpr std::size_t kMostBytes = 80;

}  // namespace

std::string quoted_line(std::string_view text) {
    std::string flat;
    bool cut = false;
    for (const char c : trim(text)) {
        if (flat.size() >= kMostBytes) {
            cut = true;
            break;
        }
        flat += c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
    }
    return '"' + escape(flat) + (cut ? "…\"" : "\"");
}

void LineFaults::add(std::uint64_t line, std::string_view text) {
    ++count_;
    if (shown_.size() < kShown) shown_.push_back(fmt::format("line {}: {}", line, quoted_line(text)));
}

std::string LineFaults::sentence() const {
    if (count_ == 0) return {};
    std::string text = fmt::format("{} could not be read: {}", count_ == 1 ? "1 line" : fmt::format("{} lines", count_),
                                   fmt::join(shown_, "; "));
    if (count_ > shown_.size()) text += "; …";
    return text;
}

std::string LineFaults::first() const { return shown_.empty() ? std::string() : shown_.front(); }

}  // namespace perfvigil::analyzer
