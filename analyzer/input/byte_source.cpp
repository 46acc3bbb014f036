// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/byte_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.hpp"

namespace perfvigil::analyzer {

Result<std::size_t> FdSource::read(std::span<std::byte> into) {
    while (true) {
        const ssize_t got = ::read(fd_.get(), into.data(), into.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) return fail_errno(errno, "read");
    }
}

Result<std::size_t> MemorySource::read(std::span<std::byte> into) {
    const std::size_t size = std::min(into.size(), rest_.size());
    if (size != 0) std::memcpy(into.data(), rest_.data(), size);
    rest_ = rest_.subspan(size);
    return size;
}

Bytes PeekedSource::peek(std::size_t size) {
    std::size_t held = start_.size();
    if (held < size) start_.resize(size);
    while (held < size && !ended_) {
        auto got = inner_->read(std::span(start_).subspan(held));
        if (!got) failure_ = std::make_unique<Error>(std::move(got.error()));
        ended_ = !got || *got == 0;
        if (got) held += *got;
    }
    start_.resize(held);
    return Bytes(start_).first(std::min(size, held));
}

Result<std::size_t> PeekedSource::read(std::span<std::byte> into) {
    if (given_ < start_.size()) {
        const std::size_t size = std::min(into.size(), start_.size() - given_);
        std::memcpy(into.data(), start_.data() + given_, size);
        given_ += size;
        if (given_ == start_.size()) {
            start_ = {};
            given_ = 0;
        }
        return size;
    }
    if (failure_) return fail(*failure_);
    if (ended_) return 0;
    return inner_->read(into);
}

std::vector<std::byte> PeekedSource::take_start() {
    std::vector<std::byte> start(start_.begin() + static_cast<std::ptrdiff_t>(given_), start_.end());
    start_ = {};
    given_ = 0;
    return start;
}

Result<std::vector<std::byte>> read_all(ByteSource& source, std::size_t limit) {
    constexpr std::size_t kStep = 256U << 10;
    std::vector<std::byte> bytes;
    while (true) {
        const std::size_t held = bytes.size();
        bytes.resize(held + std::max(kStep, held / 2));
        auto got = source.read(std::span(bytes).subspan(held));
        if (!got) return fail(std::move(got.error()));
        bytes.resize(held + *got);
        if (*got == 0) return bytes;
        if (bytes.size() > limit) return fail(ErrorCode::kExhausted, "larger than " + human_bytes(limit));
    }
}

}  // namespace perfvigil::analyzer
