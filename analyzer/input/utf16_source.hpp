// SPDX-License-Identifier: GPL-2.0-or-later
// UTF-16 text as UTF-8: what PowerShell makes of a redirected `perf script`. Lone surrogates become U+FFFD.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analyzer/input/byte_source.hpp"

namespace perfvigil::analyzer {

// By the byte order mark, or by its every second byte being zero.
[[nodiscard]] std::optional<Endian> utf16_order(Bytes start);  // kNative: little endian

class Utf16Source final : public ByteSource {
public:
    Utf16Source(std::unique_ptr<ByteSource> inner, Endian order) : inner_(std::move(inner)), order_(order) {}
    [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into) override;

private:
    void take(std::uint32_t unit);
    void put(std::uint32_t code_point);

    std::unique_ptr<ByteSource> inner_;
    Endian order_;
    std::vector<std::byte> out_;  // converted, not handed out yet
    std::size_t given_ = 0;
    std::optional<std::byte> odd_;  // half of a unit
    std::uint32_t high_ = 0;        // the first of two surrogates
    bool first_ = true;
};

}  // namespace perfvigil::analyzer
