// SPDX-License-Identifier: GPL-2.0-or-later
// What the store knows of a window or of a stretch of time, as one profile. For threads that may take their time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

using ReadProfile = std::function<Result<std::vector<std::byte>>(const Window&)>;

struct WallStretch {
    WallTime from{};
    WallTime to{};
};

// An id, or a stretch.
struct StoredChoice {
    std::string id{};
    std::optional<WallStretch> stretch{};
};
// "20260131T120500Z", "latest", or "FROM..TO" in nanoseconds since 1970.
[[nodiscard]] Result<StoredChoice> parse_choice(std::string_view name, std::string_view text);

// More profiles than this are not made one of at a time: it takes the memory of all of them.
inline constexpr std::size_t kMostMerged = 120;

[[nodiscard]] Result<analyzer::Profile> stored_profile(const Catalog& catalog, const StoredChoice& choice,
                                                       const ReadProfile& read, const std::stop_token& stop);

}  // namespace perfvigil::daemon
