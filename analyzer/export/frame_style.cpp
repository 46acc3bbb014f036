// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/frame_style.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "analyzer/function_label.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kUnknownName = "[unknown]";

struct Palette {
    std::string_view label;
    Colour darkest;
    Colour lightest;
};
// By FrameKind. The darkest keep a contrast of more than 7 to black.
constexpr std::array<Palette, kFrameKinds> kPalettes{{
    {"thread", {0xd2, 0xc6, 0xe6}, {0xe2, 0xda, 0xf0}},
    {"user", {0xf2, 0xa8, 0x55}, {0xfb, 0xd5, 0x86}},
    {"just-in-time code", {0xa3, 0xcf, 0x6a}, {0xc8, 0xe6, 0x96}},
    {"kernel", {0x8a, 0xb8, 0xe6}, {0xb4, 0xd6, 0xf4}},
    {"kernel module", {0x74, 0xc8, 0xb8}, {0xa4, 0xe2, 0xd4}},
    {"unknown", {0xc2, 0xc2, 0xc2}, {0xd8, 0xd8, 0xd8}},
}};

const Palette& palette(FrameKind kind) { return kPalettes[static_cast<std::size_t>(kind)]; }

std::uint8_t between(std::uint8_t a, std::uint8_t b, double part) {
    return static_cast<std::uint8_t>(std::lround(a + (static_cast<double>(b) - a) * part));
}
Colour between(Colour a, Colour b, double part) {
    return {between(a.red, b.red, part), between(a.green, b.green, part), between(a.blue, b.blue, part)};
}

bool is_module(std::string_view dso) {
    if (dso.ends_with(".ko") || dso.find(".ko.") != std::string_view::npos) return true;
    return dso.starts_with('[') && !dso.starts_with("[kernel") && !dso.starts_with("[guest") &&
           !dso.starts_with("[unknown") && !dso.starts_with("[hypervisor");
}

// Code that no file holds: an agent's perf map names it, or what perf calls such memory.
bool is_jit(std::string_view dso) {
    const auto name = base_name(dso);
    return dso == "[jit]" || dso.starts_with("//anon") || dso.starts_with("[anon") || dso.starts_with("/memfd:") ||
           (name.starts_with("perf-") && name.ends_with(".map"));
}

}  // namespace

FrameKind frame_kind(const ProfileFunction& function) {
    if (function.reason != UnknownReason::kNone || function.name == kUnknownName || function.name.empty()) {
        return FrameKind::kUnknown;
    }
    if (function.kernel) return is_module(function.dso) ? FrameKind::kModule : FrameKind::kKernel;
    return is_jit(function.dso) ? FrameKind::kJit : FrameKind::kUser;
}

std::string_view frame_kind_label(FrameKind kind) { return palette(kind).label; }

std::string frame_name(const ProfileFunction& function) {
    if (!function.name.empty() && function.name != kUnknownName) return function_label(function);
    const auto binary = base_name(function.dso);
    if (binary.empty()) return std::string(kUnknownName);
    return binary.starts_with('[') ? std::string(binary) : "[" + std::string(binary) + "]";
}

std::string thread_name(std::string_view comm) { return comm.empty() ? "[no name]" : std::string(comm); }

std::string Colour::hex() const { return fmt::format("#{:02x}{:02x}{:02x}", red, green, blue); }

Colour frame_colour(FrameKind kind, std::string_view name) {
    const auto part = static_cast<double>(stable_hash(name) % 101) / 100;
    return between(palette(kind).darkest, palette(kind).lightest, part);
}

Colour frame_colour(FrameKind kind) { return between(palette(kind).darkest, palette(kind).lightest, 0.5); }

Colour change_colour(double change) {
    constexpr Colour kSame{0xf4, 0xf4, 0xf4};
    constexpr Colour kMore{0xff, 0x6a, 0x5e};
    constexpr Colour kLess{0x6f, 0xa8, 0xff};
    if (!(change >= -1)) change = change < 0 ? -1 : 0;  // not a number: no change is known
    change = std::min(change, 1.0);
    return between(kSame, change < 0 ? kLess : kMore, std::abs(change));
}

}  // namespace perfvigil::analyzer
