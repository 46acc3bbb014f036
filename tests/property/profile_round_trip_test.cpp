// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <random>

#include "analyzer/profile/codec.hpp"
#include "tests/support/random_profile.hpp"

namespace perfvigil::test {
namespace {

TEST(ProfileRoundTrip, AnyProfileIsEqualToWhatIsReadBack) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 2000; ++round) {
        const analyzer::Profile profile = random_profile(random);
        const auto bytes = analyzer::encode_profile(profile);
        const auto read = analyzer::decode_profile(bytes);
        ASSERT_TRUE(read) << "round " << round << ": " << read.error().message;
        ASSERT_EQ(*read, profile) << "round " << round;
        ASSERT_EQ(analyzer::encode_profile(*read), bytes) << "round " << round;
    }
}

// Two profiles that differ are not equal: what the round trip compares with is no empty comparison.
TEST(ProfileRoundTrip, RandomProfilesDiffer) {
    std::mt19937_64 random(12);
    const auto first = random_profile(random);
    for (int round = 0; round < 100; ++round) EXPECT_FALSE(random_profile(random) == first);
}

}  // namespace
}  // namespace perfvigil::test
