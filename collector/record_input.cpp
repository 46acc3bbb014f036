// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

namespace perfvigil::collector {
namespace {

constexpr std::size_t kReadSize = 1U << 20;
// simpleperf's own types; the upper half of the type field is then the upper half of the size.
constexpr std::uint32_t kFirstVendorType = 32768;
constexpr std::uint32_t kLastVendorType = 32799;
constexpr std::size_t kMaxVendorRecord = 64U << 20;

std::string kind_of(const RecordHeader& header) {
    const auto name = record_type_name(header.type);
    return name.empty() ? fmt::format("of type {}", header.type) : std::string(name);
}

}  // namespace

RecordInput::RecordInput(Bytes region, std::uint64_t offset, Endian endian)
    : window_(region), offset_(offset), endian_(endian) {}

RecordInput::RecordInput(UniqueFd stream, std::vector<std::byte> read, std::uint64_t offset, Endian endian)
    : offset_(offset), endian_(endian), stream_(std::move(stream)), buffer_(std::move(read)) {
    window_ = buffer_;
}

bool RecordInput::want(std::size_t size) {
    if (window_.size() >= size) return true;
    if (!stream_ || read_error_ != 0) return false;
    std::vector<std::byte> kept(window_.begin(), window_.end());
    buffer_ = std::move(kept);
    while (buffer_.size() < size) {
        const std::size_t held = buffer_.size();
        buffer_.resize(held + kReadSize);
        const ssize_t n = ::read(stream_.get(), buffer_.data() + held, kReadSize);
        const int error = errno;
        buffer_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        if (n < 0 && error == EINTR) continue;
        if (n < 0) read_error_ = error;
        if (n <= 0) break;
    }
    window_ = buffer_;
    return window_.size() >= size;
}

bool RecordInput::pass_skipped() {
    while (skip_ > 0) {
        if (window_.empty() && !want(1)) return false;
        const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, window_.size()));
        advance(now);
        skip_ -= now;
    }
    return true;
}

std::unexpected<RecordInput::Stop> RecordInput::stop(Stop::Reason reason, std::string cause) const {
    if (read_error_ != 0) return std::unexpected(Stop{Stop::Reason::kIo, offset_, std::strerror(read_error_)});
    return std::unexpected(Stop{reason, offset_, std::move(cause)});
}

std::size_t RecordInput::size_of(const RecordHeader& header) {
    const std::uint32_t vendor_type = header.type & 0xffff;
    const std::size_t upper = header.type >> 16;
    const bool vendor = vendor_type >= kFirstVendorType && vendor_type <= kLastVendorType;
    if (!vendor || upper == 0) return header.size;
    const std::size_t size = upper << 16 | header.size;
    return size <= kMaxVendorRecord && want(size) ? size : header.size;
}

std::expected<RecordInput::Next, RecordInput::Stop> RecordInput::next() {
    if (!pass_skipped())
        return stop(Stop::Reason::kTruncated, fmt::format("{} bytes of trace data are missing", skip_));
    if (!want(kRecordHeaderSize)) {
        if (window_.empty()) return stop(Stop::Reason::kEnd, {});
        return stop(Stop::Reason::kTruncated, fmt::format("{} bytes are no whole record", window_.size()));
    }
    const RecordHeader header = *peek_header(window_, endian_);
    if (header.size < kRecordHeaderSize) {
        return stop(Stop::Reason::kDamaged, fmt::format("a record {} claims {} bytes", kind_of(header), header.size));
    }
    const std::size_t size = size_of(header);
    if (!want(size)) {
        return stop(Stop::Reason::kTruncated, fmt::format("a record {} of {} bytes is cut after {}", kind_of(header),
                                                          header.size, window_.size()));
    }
    Next next{header, window_.first(size), offset_};
    advance(size);
    return next;
}

}  // namespace perfvigil::collector
