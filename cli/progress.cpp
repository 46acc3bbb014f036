// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/text.hpp"

namespace perfvigil::cli {
namespace {

std::string bar(double share) {
    constexpr std::size_t kWidth = 24;
    const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kWidth);
    return "[" + std::string(full, '#') + std::string(kWidth - full, '.') + "] ";
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const State& state, MonotonicTime now) {
    if (!terminal_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    clear();
    std::string line;
    if (state.of) line = bar(to_seconds(state.elapsed) / to_seconds(*state.of));
    line += fmt::format("{:.1f} s", to_seconds(state.elapsed));
    if (state.of) line += fmt::format(" of {:.1f} s", to_seconds(*state.of));
    line += fmt::format(", {} samples, {} lost, {}", state.samples, state.lost, human_bytes(state.bytes));
    if (!state.of) line += ", Ctrl-C ends";
    fmt::print(stderr, "{}", line);
    std::fflush(stderr);
    drawn_ = true;
}

void ProgressLine::clear() {
    if (!drawn_) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    drawn_ = false;
}

}  // namespace perfvigil::cli
