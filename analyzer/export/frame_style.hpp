// SPDX-License-Identifier: GPL-2.0-or-later
// How a function is called and coloured wherever stacks are shown: flame graphs and exported stacks. Knows nothing of
// formats: names are raw, the caller escapes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

enum class FrameKind : std::uint8_t { kThread, kUser, kJit, kKernel, kModule, kUnknown };
inline constexpr std::size_t kFrameKinds = 6;
[[nodiscard]] FrameKind frame_kind(const ProfileFunction& function);
[[nodiscard]] std::string_view frame_kind_label(FrameKind kind);  // "kernel module"

// The function's name; where it has none, its binary's in brackets ("[libc.so.6]"), else "[unknown]": so that unknown
// code of different binaries stays apart. Never empty.
[[nodiscard]] std::string frame_name(const ProfileFunction& function);
// A thread's name; "[no name]" where it is empty.
[[nodiscard]] std::string thread_name(std::string_view comm);

struct Colour {
    std::uint8_t red = 0;
    std::uint8_t green = 0;
    std::uint8_t blue = 0;

    [[nodiscard]] std::string hex() const;  // "#ffe0b0"
    friend bool operator==(const Colour&, const Colour&) = default;
};

// Light colours that black text stands out from; shades differ by name, so that neighbours can be told apart.
[[nodiscard]] Colour frame_colour(FrameKind kind, std::string_view name);
[[nodiscard]] Colour frame_colour(FrameKind kind);  // for a legend
// Of a comparison: `change` from −1 (blue: less) over 0 (nearly white) to 1 (red: more); beyond that as at the end.
[[nodiscard]] Colour change_colour(double change);

}  // namespace perfvigil::analyzer
