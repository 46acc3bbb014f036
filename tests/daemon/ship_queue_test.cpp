// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/ship_queue.hpp"

#include <gtest/gtest.h>

namespace perfvigil::daemon {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(ShipQueueTest, KeepsTheOrder) {
    ShipQueue queue(3, 1);
    EXPECT_EQ(queue.front(), nullptr);
    queue.push("a");
    queue.push("b");
    ASSERT_NE(queue.front(), nullptr);
    EXPECT_EQ(*queue.front(), "a");
    queue.sent();
    EXPECT_EQ(*queue.front(), "b");
    queue.refused();
    EXPECT_EQ(queue.front(), nullptr);
    EXPECT_EQ(queue.counters(), (ShipCounters{.sent = 1, .refused = 1}));
}

TEST(ShipQueueTest, GivesUpTheOldestOfTooMany) {
    ShipQueue queue(2, 1);
    for (const auto* id : {"a", "b", "c", "d"}) queue.push(id);
    EXPECT_EQ(*queue.front(), "c");
    EXPECT_EQ(queue.counters(), (ShipCounters{.dropped = 2, .waiting = 2}));
    queue.set_most(1);
    EXPECT_EQ(*queue.front(), "d");
    queue.gone();
    EXPECT_EQ(queue.counters(), (ShipCounters{.dropped = 4}));
}

TEST(ShipQueueTest, TriesMoreAndMoreSeldom) {
    ShipQueue queue(10, 1);
    queue.push("a");
    MonotonicTime now{std::chrono::hours(1)};
    EXPECT_LE(queue.due(), now);
    Nanoseconds last{};
    for (int i = 0; i < 20; ++i) {
        queue.failed(now);
        const auto pause = queue.due() - now;
        const auto most = std::min<Nanoseconds>(seconds(1) * (1LL << std::min(i, 30)), ShipQueue::kLongestPause);
        EXPECT_LE(pause, most) << i;
        EXPECT_GE(pause, most * 3 / 4) << i;
        last = pause;
        now = queue.due();
    }
    EXPECT_GE(last, minutes(3));
    EXPECT_EQ(queue.counters().retries, 20U);
    queue.push("b");
    queue.sent();
    EXPECT_LE(queue.due(), now) << "whoever takes one takes the next at once";
    queue.failed(now);
    EXPECT_LE(queue.due() - now, seconds(1)) << "and the pauses begin anew";
}

}  // namespace
}  // namespace perfvigil::daemon
