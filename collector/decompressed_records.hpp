// SPDX-License-Identifier: GPL-2.0-or-later
// The records inside COMPRESSED records: one zstd stream over all of them, so a record may begin in one and end in
// the next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "collector/zstd_stream.hpp"

namespace perfvigil::collector {

class DecompressedRecords {
public:
    // Decompresses behind what was kept. After a failure bytes() still holds what came before it.
    [[nodiscard]] Result<void> add(Bytes compressed) {
        if (!stream_) {
            auto made = ZstdDecompressor::create();
            if (!made) return fail(std::move(made.error()));
            stream_.emplace(std::move(*made));
        }
        const std::size_t before = bytes_.size();
        taken_ += compressed.size();
        auto added = stream_->decompress(compressed, bytes_, budget());
        made_ += bytes_.size() - before;
        return added;
    }

    [[nodiscard]] Bytes bytes() const { return bytes_; }
    // What is left of bytes() after its whole records were taken: the beginning of the next.
    void keep(Bytes tail) { bytes_.erase(bytes_.begin(), bytes_.end() - static_cast<std::ptrdiff_t>(tail.size())); }

private:
    // Records of perf compress to a tenth or so, the dullest to a hundredth; hostile data to a hundred thousandth.
    static constexpr std::uint64_t kMaxRatio = 400;
    static constexpr std::uint64_t kAlwaysAllowed = 16U << 20;

    [[nodiscard]] std::size_t budget() const {
        const std::uint64_t allowed = kAlwaysAllowed + kMaxRatio * taken_;
        return static_cast<std::size_t>(allowed > made_ ? allowed - made_ : 0);
    }

    std::optional<ZstdDecompressor> stream_;
    std::vector<std::byte> bytes_;
    std::uint64_t taken_ = 0;  // compressed bytes
    std::uint64_t made_ = 0;   // … and what came out of them
};

}  // namespace perfvigil::collector
