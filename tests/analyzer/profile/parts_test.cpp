// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/parts.hpp"

#include <gtest/gtest.h>

#include "analyzer/profile/codec.hpp"
#include "tests/support/daemon_profile.hpp"

namespace perfvigil::analyzer {
namespace {

const std::vector<std::string> kNames{"20260131T120100Z", "20260131T120200Z-2"};

TEST(ProfileParts, StandBehindTheProfileAndLeaveItAlone) {
    const auto profile = test::small_profile("20260131T121000Z-r", 600);
    auto bytes = encode_profile(profile);
    EXPECT_TRUE(parts_of(bytes).value().empty());
    append_parts(bytes, kNames);
    EXPECT_EQ(parts_of(bytes).value(), kNames);
    EXPECT_EQ(decode_profile(bytes).value(), profile);
}

TEST(ProfileParts, CutAnywhereItIsNotWhole) {
    auto bytes = encode_profile(test::small_profile("20260131T121000Z-r", 600));
    const auto whole = bytes.size();
    append_parts(bytes, kNames);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto parts = parts_of(Bytes(bytes).first(size));
        // At the profile's own end it is one without parts.
        if (size == whole) {
            EXPECT_TRUE(parts.value().empty());
        } else {
            EXPECT_FALSE(parts) << size;
        }
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(parts_of(bytes)) << "something else behind it";
    bytes.pop_back();
    bytes[whole] ^= std::byte{1};
    EXPECT_FALSE(parts_of(bytes)) << "another frame";
}

}  // namespace
}  // namespace perfvigil::analyzer
