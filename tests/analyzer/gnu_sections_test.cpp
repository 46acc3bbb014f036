// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/gnu_sections.hpp"

#include <gtest/gtest.h>
#include <lzma.h>

#include <string>
#include <vector>

#include "tests/support/memory_file.hpp"

namespace perfvigil::analyzer {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> packed(const std::vector<std::byte>& plain) {
    std::vector<std::byte> out(lzma_stream_buffer_bound(plain.size()));
    std::size_t size = 0;
    EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(plain.data()),
                                      plain.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
              LZMA_OK);
    out.resize(size);
    return out;
}

TEST(DebugLink, IsANameAndAChecksum) {
    const std::string section("app.debug\0\0\0\x01\x02\x03\x04", 16);
    const auto link = parse_debug_link(bytes_of(section), Endian::kNative);
    ASSERT_TRUE(link);
    EXPECT_EQ(link->name, "app.debug");
    EXPECT_EQ(link->crc, std::endian::native == std::endian::little ? 0x04030201U : 0x01020304U);
    const auto swapped = parse_debug_link(bytes_of(section), Endian::kSwapped);
    ASSERT_TRUE(swapped);
    EXPECT_EQ(swapped->crc, byte_swap(link->crc));
}

TEST(DebugLink, ThatIsNoNameIsNone) {
    const std::string crc("\x01\x02\x03\x04", 4);
    for (const std::string& section :
         {std::string(), std::string("no end"), std::string("cut\0\x01\x02", 6), std::string("\0\0\0\0", 4) + crc,
          std::string("..\0\0", 4) + crc, std::string("a/b\0", 4) + crc,
          std::string(300, 'x') + std::string(4, '\0') + crc}) {
        EXPECT_FALSE(parse_debug_link(bytes_of(section), Endian::kNative)) << section;
    }
}

TEST(DebugLink, ChecksumIsOfTheWholeFile) {
    EXPECT_EQ(debug_link_crc(test::memory_file(bytes_of("123456789")).get()), 0xcbf43926U);  // the CRC's check value
    EXPECT_EQ(debug_link_crc(test::memory_file({}).get()), 0U);
    EXPECT_FALSE(debug_link_crc(-1));
    std::vector<std::byte> large(3U << 20, std::byte{7});
    const auto whole = debug_link_crc(test::memory_file(large).get());
    large.back() = std::byte{8};
    EXPECT_NE(debug_link_crc(test::memory_file(large).get()), whole);
}

TEST(DebugData, IsUnpackedWholeOrNotAtAll) {
    std::vector<std::byte> plain;
    for (int i = 0; i < 3'000'000; ++i) plain.push_back(std::byte{static_cast<unsigned char>(i * 31 >> 7)});
    const auto section = packed(plain);
    EXPECT_EQ(unpack_debug_data(section, plain.size() + 1), plain);
    EXPECT_FALSE(unpack_debug_data(section, plain.size() / 2));
    for (std::size_t size = 0; size < section.size(); size += section.size() / 50 + 1) {
        EXPECT_FALSE(unpack_debug_data(Bytes(section).first(size), plain.size() + 1)) << size;
    }
    auto damaged = section;
    damaged[section.size() / 2] ^= std::byte{0x40};
    EXPECT_FALSE(unpack_debug_data(damaged, plain.size() + 1));
    EXPECT_FALSE(unpack_debug_data(bytes_of("not xz at all"), 1000));
}

TEST(DebugData, ABombIsEndedAtItsLimit) {
    const std::vector<std::byte> zeros(64U << 20);
    const auto section = packed(zeros);
    ASSERT_LT(section.size(), 64U << 10);
    EXPECT_FALSE(unpack_debug_data(section, 1U << 20));
}

}  // namespace
}  // namespace perfvigil::analyzer
