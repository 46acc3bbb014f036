// SPDX-License-Identifier: GPL-2.0-or-later
// Pieces shared by the identities of functions, binaries and units.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace perfvigil::daemon::hotspot_text {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
[[nodiscard]] constexpr bool is_identifier(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}
[[nodiscard]] inline bool all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}
// Hex with at least one decimal digit: "facade" is a word, "fac4de" is not.
[[nodiscard]] inline bool looks_like_hash(std::string_view text) {
    return std::ranges::all_of(text, is_hex) && std::ranges::any_of(text, is_digit);
}

// Runs of at least `least` characters of the class become "*" where `accept` says so.
template <class Class, class Accept>
[[nodiscard]] std::string replace_runs(std::string_view text, std::size_t least, Class in_class, Accept accept) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        while (end < text.size() && in_class(text[end])) ++end;
        const std::string_view run = text.substr(i, end - i);
        if (run.size() >= least && accept(run)) {
            out += '*';
        } else {
            out += run;
        }
        if (end < text.size()) out += text[end];
        i = end + 1;
    }
    return out;
}
// A run of hex digits this long is a hash or an id.
[[nodiscard]] inline std::string replace_hashes(std::string_view text) {
    constexpr std::size_t kMinDigits = 16;
    return replace_runs(text, kMinDigits, is_hex, looks_like_hash);
}

// "(other)" and its like: what a foreign name must not be.
[[nodiscard]] inline bool is_reserved(std::string_view name) {
    return name == "(other)" || name == "(none)" || name == "(excluded)";
}
// Such a name told apart: a lone backslash cannot come out of escape().
[[nodiscard]] inline std::string marked_foreign(std::string bounded) { return '\\' + std::move(bounded); }

}  // namespace perfvigil::daemon::hotspot_text
