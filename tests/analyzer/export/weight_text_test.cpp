// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/weight_text.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

TEST(WeightText, ThreeDigitsAndAUnit) {
    using enum WeightUnit;
    EXPECT_EQ(weight_text(kNanoseconds, 0), "0 ns");
    EXPECT_EQ(weight_text(kNanoseconds, 999), "999 ns");
    EXPECT_EQ(weight_text(kNanoseconds, 1000), "1.00 µs");
    EXPECT_EQ(weight_text(kNanoseconds, 12'345'678), "12.3 ms");
    EXPECT_EQ(weight_text(kNanoseconds, 999'600'000), "1.00 s");
    EXPECT_EQ(weight_text(kNanoseconds, 98'765'000'000'000), "98765 s");
    EXPECT_EQ(weight_text(kCycles, 123'456), "123 k cycles");
    EXPECT_EQ(weight_text(kEvents, 7'000'000), "7.00 M events");
    EXPECT_EQ(share_text(1, 3), "33.33 %");
    EXPECT_EQ(share_text(1, 0), "-");
}

}  // namespace
}  // namespace perfvigil::analyzer
