// SPDX-License-Identifier: GPL-2.0-or-later
// Small text tools that std lacks in C++23 with g++ 12: strict number parsing, splitting, escaping of foreign names.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace perfvigil {

// The whole text as a number in `base`, nothing before or after it; nullopt otherwise or when out of range.
template <class T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text, int base = 10) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

[[nodiscard]] std::string_view trim(std::string_view text);
// The text up to `separator`; `text` is moved past it. The last piece leaves `text` empty.
[[nodiscard]] std::string_view next_piece(std::string_view& text, char separator);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

[[nodiscard]] std::string to_hex(Bytes bytes);
[[nodiscard]] std::string hex_address(std::uint64_t address);  // "0x1f"

// A foreign name made safe for a terminal, a log line or a label: control characters, DEL and bytes that are not
// UTF-8 become \xNN, a backslash becomes \\. Printable UTF-8 stays.
[[nodiscard]] std::string escape(std::string_view foreign);

// The part after the last '/'.
[[nodiscard]] std::string_view base_name(std::string_view path);

// 64-bit FNV-1a; stable across runs and hosts, for shortened identities.
[[nodiscard]] std::uint64_t stable_hash(std::string_view text);

// "1.5 MiB"-style sizes and "12.3 s"-style durations for people.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

}  // namespace perfvigil
