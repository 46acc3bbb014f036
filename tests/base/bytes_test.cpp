// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <array>

namespace perfvigil {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
    std::vector<std::byte> out;
    for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
    return out;
}

TEST(ByteReader, ReadsWhatTheWriterWrote) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    to.u8(0x12);
    to.u16(0x3456);
    to.u32(0x789abcde);
    to.u64(0x0123456789abcdef);
    to.i32(-5);
    to.text("ab");

    ByteReader in(out);
    EXPECT_EQ(in.u8(), 0x12);
    EXPECT_EQ(in.u16(), 0x3456);
    EXPECT_EQ(in.u32(), 0x789abcdeU);
    EXPECT_EQ(in.u64(), 0x0123456789abcdefU);
    EXPECT_EQ(in.i32(), -5);
    EXPECT_EQ(in.text_field(2), "ab");
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.remaining(), 0U);
}

TEST(ByteReader, SwapsEveryNumber) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    to.u8(0x12);
    to.u16(byte_swap(std::uint16_t{0x3456}));
    to.u32(byte_swap(0x789abcdeU));
    to.u64(byte_swap(std::uint64_t{0x0123456789abcdef}));
    to.u64(byte_swap(static_cast<std::uint64_t>(-2)));

    ByteReader in(out, Endian::kSwapped);
    EXPECT_EQ(in.u8(), 0x12);
    EXPECT_EQ(in.u16(), 0x3456);
    EXPECT_EQ(in.u32(), 0x789abcdeU);
    EXPECT_EQ(in.u64(), 0x0123456789abcdefU);
    EXPECT_EQ(in.i64(), -2);
    EXPECT_TRUE(in.ok());
}

TEST(ByteReader, StaysFailedAfterReadingPastTheEnd) {
    const auto bytes = bytes_of({1, 2, 3, 4, 5, 6});
    ByteReader in(bytes);
    EXPECT_NE(in.u32(), 0U);
    EXPECT_EQ(in.u32(), 0U);
    EXPECT_FALSE(in.ok());
    // Two bytes were left, but a decoder must not go on with what it took for something else.
    EXPECT_EQ(in.u8(), 0);
    EXPECT_EQ(in.remaining(), 0U);
    EXPECT_TRUE(in.take(1).empty());
    EXPECT_TRUE(in.text_field(1).empty());
    EXPECT_FALSE(in.ok());
}

TEST(ByteReader, TakesNoMoreThanThereIs) {
    const auto bytes = bytes_of({1, 2, 3});
    for (const std::uint64_t count : {std::uint64_t{4}, std::uint64_t{1} << 32U, ~std::uint64_t{0}}) {
        ByteReader in(bytes);
        EXPECT_TRUE(in.take(count).empty());
        EXPECT_FALSE(in.ok());
    }
    ByteReader in(bytes);
    EXPECT_EQ(in.take(3).size(), 3U);
    EXPECT_TRUE(in.ok());
    EXPECT_TRUE(in.take(0).empty());
    EXPECT_TRUE(in.ok());
}

TEST(ByteReader, TextFieldEndsAtTheNulOrTheField) {
    const auto bytes = bytes_of({'a', 'b', 0, 'x', 'c', 'd'});
    ByteReader in(bytes);
    EXPECT_EQ(in.text_field(4), "ab");
    EXPECT_EQ(in.position(), 4U);
    EXPECT_EQ(in.text_field(2), "cd");
    EXPECT_TRUE(in.ok());
}

TEST(ByteReader, ReadsUnaligned) {
    std::array<std::byte, 9> bytes{};
    bytes[1] = std::byte{0xff};
    ByteReader in(bytes);
    in.skip(1);
    EXPECT_EQ(in.u64(), std::endian::native == std::endian::little ? 0xffU : 0xff00000000000000U);
}

TEST(ByteWriter, PadsTextFromItsReference) {
    struct Case {
        const char* text;
        std::size_t size;  // after 4 bytes of head, padded to 8 counted from them
    };
    for (const auto& [text, size] : {Case{"", 4 + 8}, {"abcdefg", 4 + 8}, {"abcdefgh", 4 + 16}}) {
        std::vector<std::byte> out;
        ByteWriter to(out);
        to.u32(1);
        to.padded_text(text, 8, 4);
        EXPECT_EQ(out.size(), size) << text;
        EXPECT_EQ(out.back(), std::byte{0});
    }
}

TEST(ByteWriter, PatchesWhatWasWritten) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    to.u32(0);
    to.u32(7);
    to.patch(0, std::uint32_t{9});
    ByteReader in(out);
    EXPECT_EQ(in.u32(), 9U);
    EXPECT_EQ(in.u32(), 7U);
}

TEST(ByteSwap, TurnsEveryWidth) {
    EXPECT_EQ(byte_swap(std::uint8_t{0x12}), 0x12);
    EXPECT_EQ(byte_swap(std::uint16_t{0x1234}), 0x3412);
    EXPECT_EQ(byte_swap(std::uint32_t{0x12345678}), 0x78563412U);
    EXPECT_EQ(byte_swap(std::uint64_t{0x0102030405060708}), 0x0807060504030201U);
}

}  // namespace
}  // namespace perfvigil
