// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/zstd_stream.hpp"

#include <zstd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace perfvigil::collector {
namespace {

constexpr std::size_t kStep = 128U << 10;  // the largest block of zstd
constexpr int kMaxWindowLog = 27;          // 128 MiB; perf's own streams stay far below

Error zstd_error(std::size_t code, const char* what) {
    return {ErrorCode::kInvalid, 0, std::string(what) + ": " + ZSTD_getErrorName(code)};
}

}  // namespace

void ZstdCompressor::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

Result<ZstdCompressor> ZstdCompressor::create(int level) {
    ZstdCompressor made(ZSTD_createCCtx());
    if (!made.context_) return fail(ErrorCode::kExhausted, "zstd: no memory for a compressor");
    const auto code = ZSTD_CCtx_setParameter(made.context_.get(), ZSTD_c_compressionLevel, level);
    if (ZSTD_isError(code)) return fail(zstd_error(code, "zstd level"));
    return made;
}

std::size_t ZstdCompressor::bound(std::size_t size) { return ZSTD_compressBound(size); }

Result<void> ZstdCompressor::compress(Bytes in, std::vector<std::byte>& out) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    const std::size_t start = out.size();
    out.resize(start + bound(in.size()));
    ZSTD_outBuffer output{out.data() + start, out.size() - start, 0};
    std::size_t left = 0;
    do {
        if (output.pos == output.size) {
            out.resize(out.size() + kStep);
            output.dst = out.data() + start;
            output.size = out.size() - start;
        }
        left = ZSTD_compressStream2(context_.get(), &output, &input, ZSTD_e_flush);
        if (ZSTD_isError(left)) return fail(zstd_error(left, "zstd"));
    } while (left != 0);
    out.resize(start + output.pos);
    return {};
}

void ZstdDecompressor::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

Result<ZstdDecompressor> ZstdDecompressor::create() {
    ZstdDecompressor made(ZSTD_createDCtx());
    if (!made.context_) return fail(ErrorCode::kExhausted, "zstd: no memory for a decompressor");
    const auto code = ZSTD_DCtx_setParameter(made.context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
    if (ZSTD_isError(code)) return fail(zstd_error(code, "zstd window"));
    return made;
}

Result<void> ZstdDecompressor::decompress(Bytes in, std::vector<std::byte>& out, std::size_t limit) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    std::size_t made = 0;
    for (;;) {
        const std::size_t start = out.size();
        out.resize(start + std::min(kStep, limit - made));
        ZSTD_outBuffer output{out.data() + start, out.size() - start, 0};
        const std::size_t code = ZSTD_decompressStream(context_.get(), &output, &input);
        const bool full = output.pos == output.size;
        out.resize(start + output.pos);
        made += output.pos;
        if (ZSTD_isError(code)) return fail(zstd_error(code, "zstd stream"));
        // All input is taken and the last step had room to spare: nothing is held back inside.
        if (input.pos == input.size && !full) return {};
        if (made == limit) return fail(ErrorCode::kExhausted, "the compressed data expands beyond every measure");
        if (!full && output.pos == 0 && input.pos < input.size)
            return fail(ErrorCode::kInvalid, "zstd stream: no progress");
    }
}

Result<std::vector<std::byte>> unpack_frame(Bytes frame) {
    // Far above anything that is written, and it compresses well, but not a thousandfold.
    constexpr std::size_t kMost = 128U << 20;
    constexpr std::size_t kMostExpansion = 200;
    constexpr std::size_t kSmall = 1U << 20;
    auto stream = ZstdDecompressor::create();
    if (!stream) return fail(std::move(stream.error()));
    std::vector<std::byte> plain;
    const std::size_t limit = std::min(kMost, kSmall + frame.size() * kMostExpansion);
    if (auto done = stream->decompress(frame, plain, limit); !done) return fail(std::move(done.error()));
    // Cut at a boundary of zstd's blocks it would otherwise pass for a shorter one.
    if (plain.size() != ZSTD_getFrameContentSize(frame.data(), frame.size())) {
        return fail(ErrorCode::kTruncated, "it ends early");
    }
    return plain;
}

}  // namespace perfvigil::collector
