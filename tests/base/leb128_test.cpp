// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/leb128.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace perfvigil {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
    std::vector<std::byte> out;
    for (const int value : values) out.push_back(static_cast<std::byte>(value));
    return out;
}

// The examples of the DWARF 5 standard, section 7.6, and the ends of the range.
TEST(Leb128, NumbersOfTheStandard) {
    const auto unsigned_of = [](std::initializer_list<int> values) {
        const auto bytes = bytes_of(values);
        ByteReader in(bytes);
        const auto value = read_uleb128(in);
        EXPECT_TRUE(in.ok());
        EXPECT_EQ(in.remaining(), 0U);
        return value;
    };
    EXPECT_EQ(unsigned_of({2}), 2U);
    EXPECT_EQ(unsigned_of({127}), 127U);
    EXPECT_EQ(unsigned_of({0x80, 1}), 128U);
    EXPECT_EQ(unsigned_of({0x39 | 0x80, 100}), 12857U);
    EXPECT_EQ(unsigned_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}), UINT64_MAX);
    EXPECT_EQ(unsigned_of({0x81, 0x80, 0x80, 0}), 1U) << "padded";
    const auto signed_of = [](std::initializer_list<int> values) {
        const auto bytes = bytes_of(values);
        ByteReader in(bytes);
        const auto value = read_sleb128(in);
        EXPECT_TRUE(in.ok());
        return value;
    };
    EXPECT_EQ(signed_of({2}), 2);
    EXPECT_EQ(signed_of({0x7e}), -2);
    EXPECT_EQ(signed_of({0xff, 0}), 127);
    EXPECT_EQ(signed_of({0x81, 0x7f}), -127);
    EXPECT_EQ(signed_of({0x80, 1}), 128);
    EXPECT_EQ(signed_of({0x80, 0x7f}), -128);
    EXPECT_EQ(signed_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}), INT64_MIN);
}

TEST(Leb128, ANumberThatDoesNotEndFails) {
    for (const std::size_t size : {0U, 1U, 9U, 64U, 4096U}) {
        const std::vector<std::byte> bytes(size, std::byte{0xff});
        ByteReader in(bytes);
        (void)read_uleb128(in);
        EXPECT_FALSE(in.ok());
        ByteReader again(bytes);
        (void)read_sleb128(again);
        EXPECT_FALSE(again.ok());
    }
}

}  // namespace
}  // namespace perfvigil
