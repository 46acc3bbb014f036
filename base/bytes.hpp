// SPDX-License-Identifier: GPL-2.0-or-later
// Reading and writing bytes whose layout somebody else defined.
//
// ByteReader fails stickily: a read past the end yields zero (or an empty span) and marks the reader failed, so a
// decoder reads like its format and is judged once, at the end, with ok(). It never reads outside its span and never
// assumes alignment. With Endian::kSwapped every number is byte-swapped (captures from the other byte order).
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil {

using Bytes = std::span<const std::byte>;

enum class Endian : std::uint8_t { kNative, kSwapped };

template <std::unsigned_integral T>
[[nodiscard]] constexpr T byte_swap(T value) {
    if constexpr (sizeof(T) == 1)
        return value;
    else if constexpr (sizeof(T) == 2)
        return __builtin_bswap16(value);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bswap32(value);
    else
        return __builtin_bswap64(value);
}

class ByteReader {
public:
    explicit ByteReader(Bytes bytes, Endian endian = Endian::kNative) : bytes_(bytes), endian_(endian) {}

    [[nodiscard]] bool ok() const { return !failed_; }
    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] std::size_t remaining() const { return bytes_.size() - position_; }
    [[nodiscard]] Endian endian() const { return endian_; }
    void mark_failed() {
        failed_ = true;
        position_ = bytes_.size();
    }

    [[nodiscard]] std::uint8_t u8() { return number<std::uint8_t>(); }
    [[nodiscard]] std::uint16_t u16() { return number<std::uint16_t>(); }
    [[nodiscard]] std::uint32_t u32() { return number<std::uint32_t>(); }
    [[nodiscard]] std::uint64_t u64() { return number<std::uint64_t>(); }
    [[nodiscard]] std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
    [[nodiscard]] std::int64_t i64() { return static_cast<std::int64_t>(u64()); }

    // The next `count` bytes, or an empty span and a failure.
    [[nodiscard]] Bytes take(std::uint64_t count) {
        if (count > remaining()) {
            mark_failed();
            return {};
        }
        const Bytes taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
        position_ += static_cast<std::size_t>(count);
        return taken;
    }
    [[nodiscard]] Bytes rest() { return take(remaining()); }
    void skip(std::uint64_t count) { (void)take(count); }

    // Bytes up to a NUL or, without one, up to the end of this fixed-size field of `field_size` bytes.
    [[nodiscard]] std::string_view text_field(std::uint64_t field_size) {
        const Bytes field = take(field_size);
        if (field.empty()) return {};
        const auto* begin = reinterpret_cast<const char*>(field.data());
        return {begin, ::strnlen(begin, field.size())};
    }

private:
    template <std::unsigned_integral T>
    T number() {
        T value{};
        if (sizeof(T) > remaining()) {
            mark_failed();
            return value;
        }
        std::memcpy(&value, bytes_.data() + position_, sizeof(T));
        position_ += sizeof(T);
        return endian_ == Endian::kNative ? value : byte_swap(value);
    }

    Bytes bytes_;
    std::size_t position_ = 0;
    Endian endian_;
    bool failed_ = false;
};

// Appends numbers in native order to a growing buffer; the mirror of ByteReader.
class ByteWriter {
public:
    explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

    template <std::unsigned_integral T>
    void number(T value) {
        const auto at = out_.size();
        out_.resize(at + sizeof(T));
        std::memcpy(out_.data() + at, &value, sizeof(T));
    }
    void u8(std::uint8_t v) { number(v); }
    void u16(std::uint16_t v) { number(v); }
    void u32(std::uint32_t v) { number(v); }
    void u64(std::uint64_t v) { number(v); }
    void i32(std::int32_t v) { number(static_cast<std::uint32_t>(v)); }
    void bytes(Bytes b) { out_.insert(out_.end(), b.begin(), b.end()); }
    void text(std::string_view s) { bytes(std::as_bytes(std::span(s))); }
    void zeros(std::size_t count) { out_.resize(out_.size() + count); }
    // The text, a NUL, and zeros up to the next multiple of `alignment` of the buffer counted from `from`.
    void padded_text(std::string_view s, std::size_t alignment, std::size_t from) {
        text(s);
        zeros(1);
        const auto over = (out_.size() - from) % alignment;
        if (over != 0) zeros(alignment - over);
    }

    [[nodiscard]] std::size_t size() const { return out_.size(); }
    // Overwrites a number written before, for sizes known only at the end.
    template <std::unsigned_integral T>
    void patch(std::size_t at, T value) {
        std::memcpy(out_.data() + at, &value, sizeof(T));
    }

private:
    std::vector<std::byte>& out_;
};

}  // namespace perfvigil
