// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/gzip_source.hpp"

#include <zlib.h>

#include <algorithm>

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kBlock = 64U << 10;
constexpr std::size_t kMostAtOnce = 1U << 30;  // zlib counts in 32 bits
constexpr int kGzipWindow = 15 + 16;

}  // namespace

bool is_gzip(Bytes start) {
    return start.size() >= 3 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b} && start[2] == std::byte{8};
}

GzipSource::GzipSource(std::unique_ptr<ByteSource> inner)
    : inner_(std::move(inner)), stream_(std::make_unique<z_stream_s>()), packed_(kBlock) {
    if (inflateInit2(stream_.get(), kGzipWindow) != Z_OK) stream_.reset();
}

GzipSource::~GzipSource() {
    if (stream_) inflateEnd(stream_.get());
}

// False at the end of the file.
Result<bool> GzipSource::refill() {
    auto got = inner_->read(packed_);
    if (!got) return fail(std::move(got.error()));
    stream_->next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_->avail_in = static_cast<uInt>(*got);
    return *got != 0;
}

Result<std::size_t> GzipSource::read(std::span<std::byte> into) {
    if (!stream_) return fail(ErrorCode::kExhausted, "no memory to unpack gzip");
    if (failure_) return fail(std::move(*failure_));
    if (into.empty()) return 0;
    const auto size = static_cast<uInt>(std::min(into.size(), kMostAtOnce));
    stream_->next_out = reinterpret_cast<Bytef*>(into.data());
    stream_->avail_out = size;
    while (!ended_ && stream_->avail_out == size) {
        if (stream_->avail_in == 0) {
            auto more = refill();
            if (!more) return fail(std::move(more.error()));
            if (!*more) {
                ended_ = true;
                if (in_member_) return fail(ErrorCode::kTruncated, "the gzip data end early");
                break;
            }
        }
        if (!in_member_) {
            // Zeros may pad the last member; anything else begins another one or is none of gzip's business.
            if (*stream_->next_in == 0) {
                ++stream_->next_in;
                --stream_->avail_in;
                continue;
            }
            inflateReset(stream_.get());
            in_member_ = true;
        }
        const int state = inflate(stream_.get(), Z_NO_FLUSH);
        if (state == Z_STREAM_END) {
            in_member_ = false;
        } else if (state != Z_OK && state != Z_BUF_ERROR) {
            ended_ = true;
            Error damage{ErrorCode::kInvalid, 0, "the gzip data are damaged"};
            if (stream_->avail_out == size) return fail(std::move(damage));
            failure_ = std::move(damage);
        }
    }
    return size - stream_->avail_out;
}

}  // namespace perfvigil::analyzer
