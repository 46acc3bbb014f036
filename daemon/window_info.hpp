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

// Windows are rolled up into longer profiles, and those into the longest (config::StoreOptions).
enum class WindowKind : std::uint8_t { kWindow, kRollup, kArchive };
inline constexpr std::size_t kWindowKinds = 3;
[[nodiscard]] std::string_view kind_name(WindowKind kind);  // "window", "rollup", "archive"

struct WindowInfo {
    // "20260131T120500Z"; of roll-ups "-r" behind it, of archives "-a"; "-2" behind that for a second one.
    std::string id{};
    WallTime start{};
    WallTime end{};
    Nanoseconds duration{};
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t bytes = 0;  // encoded
    bool partial = false;
    std::string parts{};     // ids of what a roll-up holds, a blank between them; they may be gone
    Nanoseconds recorded{};  // of all CPUs whose busy share is known, together …
    Nanoseconds busy{};      // … and how much of that they were busy

    [[nodiscard]] WindowKind kind() const;
    friend bool operator==(const WindowInfo&, const WindowInfo&) = default;
};

// Without parts.
[[nodiscard]] WindowInfo describe(const analyzer::Profile& profile, std::uint64_t bytes);

// Whether `id` has the form of a window's id. Anything else never becomes part of a path.
[[nodiscard]] bool is_window_id(std::string_view id);
// The id of the first profile of that kind and end: "20260131T121000Z" → "20260131T121000Z-r".
[[nodiscard]] std::string id_of_kind(std::string_view end, WindowKind kind);

struct Window {
    WindowInfo info;
    // Set while the window could not be stored: its encoded profile, gone with the daemon.
    std::shared_ptr<const std::vector<std::byte>> in_memory;
};

// Every completed window and roll-up, by its end, oldest first. Roll-ups stand beside the windows that they hold, as
// long as those are kept: window_cover.hpp chooses.
using Catalog = std::vector<std::shared_ptr<const Window>>;

[[nodiscard]] std::shared_ptr<const Window> find_window(const Catalog& catalog, std::string_view id);

}  // namespace perfvigil::daemon
