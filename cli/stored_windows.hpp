// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon keeps, as it lists it (docs/http-api.md), and profiles of stretches of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"
#include "cli/wall_times.hpp"

namespace perfvigil::cli {

struct StoredWindow {
    std::string id;
    std::string kind;  // "window", "rollup", "archive"
    WallTime start{};
    WallTime end{};
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t bytes = 0;
    std::uint64_t parts = 0;  // of a roll-up
    bool partial = false;
    bool stored = true;
};

// The daemon's answer to /v1/windows, in its order.
[[nodiscard]] Result<std::vector<StoredWindow>> parse_windows(std::string_view json);

// The fewest profiles that tell about the span, oldest first (?since&until). kNotFound: nothing is kept of it.
[[nodiscard]] Result<std::vector<StoredWindow>> windows_of(const WallSpan& span, const std::string& socket);

// Those as one. What it holds, and where that is not quite what was asked for, is said on stderr, in the caller's time
// zone.
[[nodiscard]] Result<analyzer::Profile> profile_of(const WallSpan& span, const std::string& socket);

}  // namespace perfvigil::cli
