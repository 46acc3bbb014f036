// SPDX-License-Identifier: GPL-2.0-or-later
// Bytes read once, from the front: a file, a pipe, memory, or what another source's bytes stand for (gzip, UTF-16).
// Knows nothing of what they mean, holds a block at most.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {

class ByteSource {
public:
    virtual ~ByteSource() = default;
    // At least one byte; 0 only at the end, or for an empty span. After an error or the end it is called no more.
    [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
};

class FdSource final : public ByteSource {
public:
    explicit FdSource(UniqueFd fd) : fd_(std::move(fd)) {}
    [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into) override;
    [[nodiscard]] UniqueFd take_fd() { return std::move(fd_); }

private:
    UniqueFd fd_;
};

// The bytes outlive the source.
class MemorySource final : public ByteSource {
public:
    explicit MemorySource(Bytes bytes) : rest_(bytes) {}
    explicit MemorySource(std::string_view text) : rest_(std::as_bytes(std::span(text))) {}
    [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into) override;

private:
    Bytes rest_;
};

// Another source with its first bytes looked at: they are read again from here.
class PeekedSource final : public ByteSource {
public:
    explicit PeekedSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}
    // The first `size` bytes, fewer only where the source ends or fails; what failed is said by read().
    [[nodiscard]] Bytes peek(std::size_t size);
    [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into) override;
    // What peek() holds and read() did not hand out; it is forgotten here.
    [[nodiscard]] std::vector<std::byte> take_start();

private:
    std::unique_ptr<ByteSource> inner_;
    std::vector<std::byte> start_;
    std::size_t given_ = 0;
    bool ended_ = false;
    std::unique_ptr<Error> failure_;
};

// Everything that is left; more than `limit` bytes: kExhausted.
[[nodiscard]] Result<std::vector<std::byte>> read_all(ByteSource& source, std::size_t limit);

}  // namespace perfvigil::analyzer
