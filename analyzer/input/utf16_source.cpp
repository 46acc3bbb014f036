// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/utf16_source.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kMark = 0xfeff;
constexpr std::uint32_t kReplacement = 0xfffd;
constexpr std::size_t kBlock = 32U << 10;

bool is_high(std::uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(std::uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

std::optional<Endian> utf16_order(Bytes start) {
    const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(start[i]); };
    if (start.size() < 2) return std::nullopt;
    if (at(0) == 0xff && at(1) == 0xfe) return Endian::kNative;
    if (at(0) == 0xfe && at(1) == 0xff) return Endian::kSwapped;
    constexpr std::size_t kLooked = 64;
    if (start.size() < kLooked) return std::nullopt;
    std::array<std::size_t, 2> zeros{};
    for (std::size_t i = 0; i < kLooked; ++i) zeros[i % 2] += at(i) == 0 ? 1 : 0;
    if (zeros[1] == kLooked / 2 && zeros[0] == 0) return Endian::kNative;
    if (zeros[0] == kLooked / 2 && zeros[1] == 0) return Endian::kSwapped;
    return std::nullopt;
}

void Utf16Source::put(std::uint32_t c) {
    const auto byte = [&](std::uint32_t value) { out_.push_back(static_cast<std::byte>(value)); };
    if (c < 0x80) {
        byte(c);
    } else if (c < 0x800) {
        byte(0xc0U | (c >> 6U));
        byte(0x80U | (c & 0x3fU));
    } else if (c < 0x10000) {
        byte(0xe0U | (c >> 12U));
        byte(0x80U | ((c >> 6U) & 0x3fU));
        byte(0x80U | (c & 0x3fU));
    } else {
        byte(0xf0U | (c >> 18U));
        byte(0x80U | ((c >> 12U) & 0x3fU));
        byte(0x80U | ((c >> 6U) & 0x3fU));
        byte(0x80U | (c & 0x3fU));
    }
}

void Utf16Source::take(std::uint32_t unit) {
    if (std::exchange(first_, false) && unit == kMark) return;
    if (high_ != 0) {
        const std::uint32_t high = std::exchange(high_, 0);
        if (is_low(unit)) {
            put(0x10000U + ((high - 0xd800U) << 10U) + (unit - 0xdc00U));
            return;
        }
        put(kReplacement);
    }
    if (is_high(unit))
        high_ = unit;
    else
        put(is_low(unit) ? kReplacement : unit);
}

Result<std::size_t> Utf16Source::read(std::span<std::byte> into) {
    if (into.empty()) return 0;
    while (given_ == out_.size()) {
        out_.clear();
        given_ = 0;
        std::array<std::byte, kBlock> block;
        auto got = inner_->read(block);
        if (!got) return fail(std::move(got.error()));
        if (*got == 0) {
            if (high_ == 0 && !odd_) return 0;
            high_ = 0;
            odd_.reset();
            put(kReplacement);
            break;
        }
        for (const std::byte byte : std::span(block).first(*got)) {
            if (!odd_) {
                odd_ = byte;
                continue;
            }
            const auto a = std::to_integer<std::uint32_t>(*odd_);
            const auto b = std::to_integer<std::uint32_t>(byte);
            odd_.reset();
            take(order_ == Endian::kNative ? (b << 8U) | a : (a << 8U) | b);
        }
    }
    const std::size_t size = std::min(into.size(), out_.size() - given_);
    std::memcpy(into.data(), out_.data() + given_, size);
    given_ += size;
    return size;
}

}  // namespace perfvigil::analyzer
