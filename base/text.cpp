// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/text.hpp"

#include <array>
#include <cstdio>

namespace perfvigil {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// Length of the well-formed UTF-8 sequence at the start of `s` (1..4), 0 where there is none. Unicode 15, table 3-7.
std::size_t utf8_length(std::string_view s) {
    const auto at = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
    const auto tail = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
    const unsigned lead = at(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (!tail(1) || !tail(2)) return 0;
        if (lead == 0xe0 && at(1) < 0xa0) return 0;
        if (lead == 0xed && at(1) > 0x9f) return 0;
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if (lead == 0xf0 && at(1) < 0x90) return 0;
        if (lead == 0xf4 && at(1) > 0x8f) return 0;
        return 4;
    }
    return 0;
}

void append_hex(std::string& out, unsigned char byte) {
    out += kHexDigits[byte >> 4U];
    out += kHexDigits[byte & 15U];
}

}  // namespace

std::string_view trim(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const auto first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view next_piece(std::string_view& text, char separator) {
    const auto at = text.find(separator);
    const auto piece = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
    return piece;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    while (!text.empty()) pieces.push_back(next_piece(text, separator));
    return pieces;
}

std::string to_hex(Bytes bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const auto byte : bytes) append_hex(out, static_cast<unsigned char>(byte));
    return out;
}

std::string hex_address(std::uint64_t address) {
    std::array<char, 24> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), address, 16);
    return "0x" + std::string(buffer.data(), end);
}

std::string escape(std::string_view foreign) {
    std::string out;
    out.reserve(foreign.size());
    while (!foreign.empty()) {
        const auto length = utf8_length(foreign);
        const auto byte = static_cast<unsigned char>(foreign.front());
        // C1 controls (U+0080..U+009F, encoded c2 80..c2 9f) steer terminals too.
        const bool c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(foreign[1]) < 0xa0;
        if (length == 0 || c1 || (length == 1 && (byte < 0x20 || byte == 0x7f))) {
            out += "\\x";
            append_hex(out, byte);
            foreign.remove_prefix(1);
            continue;
        }
        if (byte == '\\') out += '\\';
        out += foreign.substr(0, length);
        foreign.remove_prefix(length);
    }
    return out;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::uint64_t stable_hash(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3U;
    }
    return hash;
}

std::string human_bytes(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
    return buffer.data();
}

}  // namespace perfvigil
