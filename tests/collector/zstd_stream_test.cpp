// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/zstd_stream.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <zstd.h>

namespace perfvigil::collector {
namespace {

std::vector<std::byte> noise(std::size_t size, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(size);
    for (auto& b : bytes) b = std::byte{static_cast<unsigned char>(random())};
    return bytes;
}

TEST(ZstdStream, EveryPieceCanBeReadAsSoonAsItWasWritten) {
    auto compressor = ZstdCompressor::create(3);
    auto decompressor = ZstdDecompressor::create();
    ASSERT_TRUE(compressor.has_value() && decompressor.has_value());
    for (const std::size_t size : {1UL, 63UL << 10, 100UL, 300UL << 10}) {
        const auto piece = noise(size, static_cast<unsigned>(size));
        std::vector<std::byte> compressed;
        std::vector<std::byte> back;
        ASSERT_TRUE(compressor->compress(piece, compressed).has_value());
        ASSERT_TRUE(decompressor->decompress(compressed, back, 1U << 30).has_value());
        EXPECT_TRUE(back == piece) << size;
    }
}

TEST(ZstdStream, WhatDoesNotCompressGrowsLittle) {
    // A COMPRESSED record has 16 bits for its size.
    auto compressor = ZstdCompressor::create(3);
    std::vector<std::byte> compressed;
    ASSERT_TRUE(compressor->compress(noise(63U << 10, 1), compressed).has_value());
    EXPECT_LE(compressed.size(), 65535U - 8);
    EXPECT_LE(compressed.size(), ZstdCompressor::bound(63U << 10));
}

TEST(ZstdStream, ALimitHoldsAndWhatCameBeforeItIsGood) {
    auto compressor = ZstdCompressor::create(3);
    std::vector<std::byte> compressed;
    ASSERT_TRUE(compressor->compress(std::vector<std::byte>(10U << 20, std::byte{5}), compressed).has_value());
    for (const std::size_t limit : {0UL, 1UL, 1UL << 20}) {
        auto decompressor = ZstdDecompressor::create();
        std::vector<std::byte> back;
        const auto read = decompressor->decompress(compressed, back, limit);
        ASSERT_FALSE(read.has_value());
        EXPECT_EQ(read.error().code, ErrorCode::kExhausted);
        EXPECT_LE(back.size(), limit);
        EXPECT_TRUE(std::ranges::all_of(back, [](std::byte b) { return b == std::byte{5}; }));
    }
}

TEST(ZstdStream, DamageIsSaid) {
    auto decompressor = ZstdDecompressor::create();
    std::vector<std::byte> back;
    const auto read = decompressor->decompress(noise(1000, 3), back, 1U << 20);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
}

TEST(ZstdStream, ANewStreamWithinOneIsDamage) {
    auto decompressor = ZstdDecompressor::create();
    std::vector<std::byte> back;
    for (unsigned i = 0; i < 3; ++i) {
        auto compressor = ZstdCompressor::create(1);
        std::vector<std::byte> compressed;
        ASSERT_TRUE(compressor->compress(noise(100, i), compressed).has_value());
        // Without its end a frame goes on; a new magic in the middle of one is damage.
        const auto read = decompressor->decompress(compressed, back, 1U << 20);
        EXPECT_EQ(read.has_value(), i == 0);
    }
    EXPECT_TRUE(back == noise(100, 0));
}

TEST(ZstdStream, AFrameOfOursIsWholeOrRefused) {
    const auto plain = noise(400'000, 8);
    std::vector<std::byte> frame(ZSTD_compressBound(plain.size()));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 1));
    const auto unpacked = unpack_frame(frame);
    ASSERT_TRUE(unpacked.has_value());
    EXPECT_TRUE(*unpacked == plain);
    // Its first blocks alone are whole blocks, but not the frame.
    for (std::size_t size = 0; size < frame.size(); size += 997) {
        EXPECT_FALSE(unpack_frame(Bytes(frame).first(size)).has_value()) << size;
    }
}

}  // namespace
}  // namespace perfvigil::collector
