// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/time.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace perfvigil {
namespace {

TEST(MonotonicTime, KeepsEveryNanosecondBothWays) {
    for (const std::uint64_t ns :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1797837778788}, ~std::uint64_t{0}}) {
        EXPECT_EQ(to_ns(monotonic_from_ns(ns)), ns);
    }
    EXPECT_LT(monotonic_from_ns(5), monotonic_from_ns(6));
    EXPECT_DOUBLE_EQ(to_seconds(std::chrono::milliseconds(1500)), 1.5);
}

std::uint64_t read_ns(clockid_t id) {
    timespec ts{};
    ::clock_gettime(id, &ts);
    return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(ts.tv_nsec);
}

TEST(SystemClock, ReadsTheKernelsClocks) {
    const std::uint64_t before = read_ns(CLOCK_MONOTONIC);
    const std::uint64_t ours = to_ns(system_clock().monotonic());
    EXPECT_LE(before, ours);
    EXPECT_LE(ours, read_ns(CLOCK_MONOTONIC));

    const auto wall = static_cast<std::int64_t>(read_ns(CLOCK_REALTIME));
    const std::int64_t distance = system_clock().wall().time_since_epoch().count() - wall;
    EXPECT_LT(std::abs(distance), 60'000'000'000) << "wall time is not CLOCK_REALTIME";
}

}  // namespace
}  // namespace perfvigil
