// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/bundle_file.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

constexpr BundleParts kParts{.capture_size = 1000, .evidence_size = 50, .evidence_hash = 7};
constexpr std::uint64_t kSize = 1000 + 50 + kBundleTrailerSize;

TEST(BundleFile, TheTrailerSaysWhereThePartsLie) {
    const auto bytes = encode_bundle_trailer(kParts);
    ASSERT_EQ(bytes.size(), kBundleTrailerSize);
    const auto parts = decode_bundle_trailer(bytes, kSize);
    ASSERT_TRUE(parts && *parts);
    EXPECT_EQ((*parts)->capture_size, 1000U);
    EXPECT_EQ((*parts)->evidence_size, 50U);
    EXPECT_EQ((*parts)->evidence_hash, 7U);
}

TEST(BundleFile, OtherEndsAreNoBundle) {
    const auto bytes = encode_bundle_trailer(kParts);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto parts = decode_bundle_trailer(Bytes(bytes).first(size), kSize);
        EXPECT_TRUE(parts && !*parts) << size;
    }
    for (const std::size_t at : {std::size_t{0}, std::size_t{7}, kBundleTrailerSize - 1}) {
        auto other = bytes;
        other[at] ^= std::byte{1};
        const auto parts = decode_bundle_trailer(other, kSize);
        EXPECT_TRUE(parts && !*parts) << at;
    }
}

TEST(BundleFile, PartsThatAreNotTheFileAndLaterVersionsAreErrors) {
    const auto bytes = encode_bundle_trailer(kParts);
    EXPECT_FALSE(decode_bundle_trailer(bytes, kSize + 1));
    EXPECT_FALSE(decode_bundle_trailer(bytes, kSize - 1));
    EXPECT_FALSE(decode_bundle_trailer(bytes, kBundleTrailerSize));
    EXPECT_FALSE(decode_bundle_trailer(
        encode_bundle_trailer({.capture_size = ~0ULL, .evidence_size = kSize, .evidence_hash = 0}), kSize));
    auto later = bytes;
    later[8] = std::byte{9};
    const auto refused = decode_bundle_trailer(later, kSize);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("version 9"), std::string::npos);
}

}  // namespace
}  // namespace perfvigil::analyzer
