// SPDX-License-Identifier: GPL-2.0-or-later
// The capture files in a folder, by their names and what the file system says. Knows neither budgets nor formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace perfvigil::daemon {

struct CaptureFileInfo {
    std::string path{};
    std::uint64_t bytes = 0;
    std::uint64_t inode = 0;
    std::uint64_t names = 1;  // hard links: more than one, a freeze holds it too
    WallTime begun{};         // by its name; where that holds no time, the same as `written`
    WallTime written{};       // last
};

inline constexpr std::string_view kCaptureSuffix = ".perf.data";

// Whole and half-written ones (collector::partial_capture_path), oldest first: their names begin with their time.
[[nodiscard]] std::vector<CaptureFileInfo> list_captures(const std::string& directory);
[[nodiscard]] bool is_partial_capture(std::string_view path);

// "20260131T120500Z…", as compact_time() writes it.
[[nodiscard]] std::optional<WallTime> time_in_name(std::string_view name);

}  // namespace perfvigil::daemon
