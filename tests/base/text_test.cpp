// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace perfvigil {
namespace {

using std::string_view_literals::operator""sv;

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
    EXPECT_EQ(parse_number<int>("-42"), -42);
    EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
    EXPECT_EQ(parse_number<std::uint64_t>("ffffffff81000000", 16), 0xffffffff81000000U);
    for (const auto bad : {"", " 1", "1 ", "1x", "+1", "0x1", "18446744073709551616", "-1"}) {
        EXPECT_EQ(parse_number<std::uint64_t>(bad), std::nullopt) << bad;
    }
    EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
}

TEST(Trim, TakesBlanksOffBothEnds) {
    EXPECT_EQ(trim(" \t a b\r\n"), "a b");
    EXPECT_EQ(trim("a"), "a");
    EXPECT_EQ(trim(" \n"), "");
    EXPECT_EQ(trim(""), "");
}

TEST(NextPiece, WalksThePieces) {
    std::string_view text = "a,,b";
    EXPECT_EQ(next_piece(text, ','), "a");
    EXPECT_EQ(next_piece(text, ','), "");
    EXPECT_EQ(text, "b");
    EXPECT_EQ(next_piece(text, ','), "b");
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(next_piece(text, ','), "");
}

TEST(Split, KeepsEmptyPiecesButTheLast) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(split(",a", ','), (std::vector<std::string_view>{"", "a"}));
    EXPECT_EQ(split("a,", ','), (std::vector<std::string_view>{"a"}));
    EXPECT_TRUE(split("", ',').empty());
}

TEST(Hex, OfBytesAndAddresses) {
    const std::array<std::byte, 3> bytes{std::byte{0}, std::byte{0xab}, std::byte{0x1f}};
    EXPECT_EQ(to_hex(bytes), "00ab1f");
    EXPECT_EQ(to_hex({}), "");
    EXPECT_EQ(hex_address(0x1f), "0x1f");
    EXPECT_EQ(hex_address(0), "0x0");
    EXPECT_EQ(hex_address(UINT64_MAX), "0xffffffffffffffff");
}

TEST(Escape, MakesForeignNamesSafe) {
    struct Case {
        std::string_view in;
        std::string_view out;
    };
    for (const auto& [in, out] : {Case{"plain name", "plain name"},
                                  {"grüße ☃ 𝄞", "grüße ☃ 𝄞"},
                                  {"a\\b", "a\\\\b"},
                                  {"a\nb\tc", "a\\x0ab\\x09c"},
                                  {"\x1b[31m", "\\x1b[31m"},
                                  {"\x7f", "\\x7f"},
                                  {"nul\0in"sv, "nul\\x00in"},
                                  {"\xc2\x9b", "\\xc2\\x9b"},           // CSI as one C1 control
                                  {"\xff\xfe", "\\xff\\xfe"},           // no UTF-8
                                  {"\xc3", "\\xc3"},                    // cut sequence
                                  {"\xc0\xaf", "\\xc0\\xaf"},           // overlong '/'
                                  {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},  // overlong
                                  {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // surrogate
                                  {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}}) {
        EXPECT_EQ(escape(in), out);
    }
}

TEST(BaseName, IsWhatFollowsTheLastSlash) {
    EXPECT_EQ(base_name("/usr/lib/libc.so.6"), "libc.so.6");
    EXPECT_EQ(base_name("libc.so.6"), "libc.so.6");
    EXPECT_EQ(base_name("/usr/"), "");
    EXPECT_EQ(base_name(""), "");
}

TEST(StableHash, IsFnv1a) {
    // Test vectors of the FNV authors.
    EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
    EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);
    EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8U);
}

TEST(HumanBytes, UsesBinaryUnits) {
    EXPECT_EQ(human_bytes(0), "0 B");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(1536), "1.5 KiB");
    EXPECT_EQ(human_bytes(std::uint64_t{3} << 40U), "3.0 TiB");
    EXPECT_EQ(human_bytes(std::uint64_t{5} << 50U), "5120.0 TiB");
}

}  // namespace
}  // namespace perfvigil
