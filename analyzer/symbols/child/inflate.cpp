// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/inflate.hpp"

#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kChunk = 256U << 10;
constexpr std::uint64_t kMaxDictionary = 256U << 20;
constexpr int kMaxWindowLog = 27;  // 128 MiB

Error damaged() { return {ErrorCode::kInvalid, 0, "the compressed file is damaged"}; }

// The file by pieces.
class Source {
public:
    explicit Source(int fd) : fd_(fd), bytes_(kChunk) {}
    // Empty at the end, or where it cannot be read.
    Bytes next() {
        ssize_t got = 0;
        do got = ::pread(fd_, bytes_.data(), bytes_.size(), static_cast<off_t>(at_));
        while (got < 0 && errno == EINTR);
        if (got <= 0) return {};
        at_ += static_cast<std::uint64_t>(got);
        return Bytes(bytes_).first(static_cast<std::size_t>(got));
    }

private:
    int fd_;
    std::uint64_t at_ = 0;
    std::vector<std::byte> bytes_;
};

// The answer, up to its limit.
class Sink {
public:
    Sink(int fd, std::uint64_t left) : fd_(fd), left_(left) {}
    Result<void> take(Bytes bytes) {
        if (bytes.size() > left_) return fail(ErrorCode::kExhausted, "over its limit");
        left_ -= bytes.size();
        return write_all(fd_, bytes);
    }

private:
    int fd_;
    std::uint64_t left_;
};

Result<void> inflate_xz(Source& source, Sink& sink) {
    lzma_stream stream = LZMA_STREAM_INIT;
    const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&stream, lzma_end);
    if (lzma_stream_decoder(&stream, kMaxDictionary, LZMA_CONCATENATED) != LZMA_OK) return fail(damaged());
    std::vector<std::byte> out(kChunk);
    for (lzma_ret state = LZMA_OK; state != LZMA_STREAM_END;) {
        Bytes piece;
        if (stream.avail_in == 0) {
            piece = source.next();
            stream.next_in = reinterpret_cast<const std::uint8_t*>(piece.data());
            stream.avail_in = piece.size();
        }
        stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
        stream.avail_out = out.size();
        state = lzma_code(&stream, stream.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
        if (state != LZMA_OK && state != LZMA_STREAM_END) return fail(damaged());
        if (auto taken = sink.take(Bytes(out).first(out.size() - stream.avail_out)); !taken) return taken;
    }
    return {};
}

Result<void> inflate_gzip(Source& source, Sink& sink) {
    z_stream stream{};
    constexpr int kGzip = 16 + MAX_WBITS;
    if (::inflateInit2(&stream, kGzip) != Z_OK) return fail(damaged());
    const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, ::inflateEnd);
    std::vector<std::byte> out(kChunk);
    for (int state = Z_OK; state != Z_STREAM_END;) {
        if (stream.avail_in == 0) {
            const Bytes piece = source.next();
            if (piece.empty()) return fail(damaged());
            stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
            stream.avail_in = static_cast<uInt>(piece.size());
        }
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = static_cast<uInt>(out.size());
        state = ::inflate(&stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END) return fail(damaged());
        if (auto taken = sink.take(Bytes(out).first(out.size() - stream.avail_out)); !taken) return taken;
    }
    return {};
}

Result<void> inflate_zstd(Source& source, Sink& sink) {
    const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
    if (context == nullptr) return fail(damaged());
    (void)ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
    std::vector<std::byte> out(kChunk);
    std::size_t left = 1;  // 0: a frame is whole
    for (Bytes piece = source.next(); !piece.empty(); piece = source.next()) {
        ZSTD_inBuffer in{piece.data(), piece.size(), 0};
        bool full = false;
        while (in.pos < in.size || full) {
            ZSTD_outBuffer to{out.data(), out.size(), 0};
            left = ZSTD_decompressStream(context.get(), &to, &in);
            if (ZSTD_isError(left) != 0) return fail(damaged());
            if (auto taken = sink.take(Bytes(out).first(to.pos)); !taken) return taken;
            full = to.pos == to.size && left != 0;
        }
    }
    if (left != 0) return fail(damaged());
    return {};
}

}  // namespace

Result<void> answer_inflated(int out, int file, std::uint64_t max_bytes) {
    std::array<unsigned char, 6> magic{};
    if (::pread(file, magic.data(), magic.size(), 0) != static_cast<ssize_t>(magic.size())) return fail(damaged());
    const auto is = [&](std::string_view wanted) {
        return std::memcmp(magic.data(), wanted.data(), wanted.size()) == 0;
    };
    Source source(file);
    Sink sink(out, max_bytes);
    if (is(std::string_view("\xfd"
                            "7zXZ\0",
                            6)))
        return inflate_xz(source, sink);
    if (is("\x1f\x8b")) return inflate_gzip(source, sink);
    if (is("\x28\xb5\x2f\xfd")) return inflate_zstd(source, sink);
    return fail(ErrorCode::kInvalid, "the file is not compressed in a way that is known");
}

}  // namespace perfvigil::analyzer
