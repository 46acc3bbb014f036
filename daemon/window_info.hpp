// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of a stored window without opening it, and the list of all of them as it stands at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/time.hpp"

namespace perfvigil::daemon {

struct WindowInfo {
    std::string id{};  // "20260131T120500Z", "-2" behind it for a second one of the same end
    WallTime start{};
    WallTime end{};
    Nanoseconds duration{};
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t bytes = 0;  // encoded
    bool partial = false;

    friend bool operator==(const WindowInfo&, const WindowInfo&) = default;
};

[[nodiscard]] WindowInfo describe(const analyzer::Profile& profile, std::uint64_t bytes);

// Whether `id` has the form of a window's id. Anything else never becomes part of a path.
[[nodiscard]] bool is_window_id(std::string_view id);

struct Window {
    WindowInfo info;
    // Set while the window could not be stored: its encoded profile, gone with the daemon.
    std::shared_ptr<const std::vector<std::byte>> in_memory;
};

// Every completed window, by its end, oldest first.
using Catalog = std::vector<std::shared_ptr<const Window>>;

[[nodiscard]] std::shared_ptr<const Window> find_window(const Catalog& catalog, std::string_view id);

}  // namespace perfvigil::daemon
