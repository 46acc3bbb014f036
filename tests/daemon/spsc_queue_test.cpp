// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/spsc_queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "daemon/published.hpp"

namespace perfvigil::daemon {
namespace {

TEST(SpscQueueTest, HoldsItsCapacityAndKeepsWhatDoesNotFit) {
    SpscQueue<std::unique_ptr<int>> queue(2);
    EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));
    EXPECT_TRUE(queue.try_push(std::make_unique<int>(2)));
    auto third = std::make_unique<int>(3);
    EXPECT_FALSE(queue.try_push(std::move(third)));
    ASSERT_NE(third, nullptr) << "a refused value stays the producer's";
    EXPECT_EQ(**queue.try_pop(), 1);
    EXPECT_TRUE(queue.try_push(std::move(third)));
    EXPECT_EQ(**queue.try_pop(), 2);
    EXPECT_EQ(**queue.try_pop(), 3);
    EXPECT_FALSE(queue.try_pop());
}

TEST(SpscQueueTest, DestroysWhatWasTaken) {
    auto tracked = std::make_shared<int>(1);
    SpscQueue<std::shared_ptr<int>> queue(4);
    EXPECT_TRUE(queue.try_push(std::shared_ptr<int>(tracked)));
    EXPECT_TRUE(queue.try_pop().has_value());
    EXPECT_EQ(tracked.use_count(), 1);
}

TEST(SpscQueueTest, DeliversEverythingInOrderAcrossThreads) {
    constexpr int kCount = 100000;
    SpscQueue<int> queue(16);
    const std::jthread producer([&] {
        for (int i = 0; i < kCount;) {
            if (queue.try_push(int{i}))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    int expected = 0;
    while (expected < kCount) {
        queue.filled().wait(-1);
        while (const auto value = queue.try_pop()) {
            ASSERT_EQ(*value, expected);
            ++expected;
        }
    }
}

TEST(PublishedTest, ReadersKeepWhatTheyGot) {
    Published<std::string> text("one");
    const auto first = text.value();
    text.set("two");
    EXPECT_EQ(*first, "one");
    EXPECT_EQ(*text.value(), "two");
}

}  // namespace
}  // namespace perfvigil::daemon
