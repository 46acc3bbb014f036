// SPDX-License-Identifier: GPL-2.0-or-later
// The one continuous zstd stream that PERF_RECORD_COMPRESSED records of a file hold together
// (perf.data-file-format.txt). What comes out of a decompressor is bounded by the caller: hostile input expands
// a hundred thousandfold. And the single frames in which our own files are kept.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace perfvigil::collector {

class ZstdCompressor {
public:
    [[nodiscard]] static Result<ZstdCompressor> create(int level);

    // Appends the compressed form of `in`, complete: a reader of everything appended so far has all of `in`.
    [[nodiscard]] Result<void> compress(Bytes in, std::vector<std::byte>& out);
    // The most that compress() appends for `size` bytes.
    [[nodiscard]] static std::size_t bound(std::size_t size);

private:
    struct Free {
        void operator()(ZSTD_CCtx_s* context) const;
    };
    explicit ZstdCompressor(ZSTD_CCtx_s* context) : context_(context) {}
    std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class ZstdDecompressor {
public:
    [[nodiscard]] static Result<ZstdDecompressor> create();

    // Appends what `in`, the next stretch of the stream, stands for. More than `limit` bytes: kExhausted; damage:
    // kInvalid. What was appended before the failure is good.
    [[nodiscard]] Result<void> decompress(Bytes in, std::vector<std::byte>& out, std::size_t limit);

private:
    struct Free {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    explicit ZstdDecompressor(ZSTD_DCtx_s* context) : context_(context) {}
    std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

// What the one frame of a file of ours (a stored profile, the evidence of a bundle) holds. Refused are frames that end
// early and those that would hold more than 128 MiB, or, beyond the first MiB, more than 200 times their own size.
[[nodiscard]] Result<std::vector<std::byte>> unpack_frame(Bytes frame);

}  // namespace perfvigil::collector
