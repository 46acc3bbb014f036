// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_queue.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace perfvigil::daemon {
namespace {

using Answer = CaptureQueue::Answer;

TEST(CaptureQueueTest, SoManyRunTheOthersWaitInOrder) {
    CaptureQueue queue({.concurrent = 2, .waiting = 2, .budget = 1});
    EXPECT_EQ(queue.add({.id = 1, .cost = 0.1}), Answer::kRuns);
    EXPECT_EQ(queue.add({.id = 2, .cost = 0.1}), Answer::kRuns);
    EXPECT_EQ(queue.add({.id = 3, .cost = 0.1}), Answer::kWaits);
    EXPECT_EQ(queue.add({.id = 4, .cost = 0.1}), Answer::kWaits);
    EXPECT_EQ(queue.add({.id = 5, .cost = 0.1}), Answer::kFull);
    EXPECT_EQ(queue.position(3), 1U);
    EXPECT_EQ(queue.position(4), 2U);
    EXPECT_EQ(queue.position(1), 0U);
    EXPECT_EQ(queue.next(), std::nullopt);
    queue.ended(1);
    EXPECT_EQ(queue.next(), 3U);
    EXPECT_EQ(queue.next(), std::nullopt);
    EXPECT_EQ(queue.position(4), 1U);
    queue.ended(4);  // it gave up waiting
    queue.ended(2);
    EXPECT_EQ(queue.next(), std::nullopt);
    EXPECT_EQ(queue.running().size(), 1U);
}

TEST(CaptureQueueTest, TogetherTheyStayWithinTheBudget) {
    CaptureQueue queue({.concurrent = 4, .waiting = 4, .budget = 0.05});
    EXPECT_EQ(queue.add({.id = 1, .cost = 0.06}), Answer::kTooDear);
    EXPECT_EQ(queue.add({.id = 2, .cost = 0.03}), Answer::kRuns);
    EXPECT_EQ(queue.add({.id = 3, .cost = 0.03}), Answer::kWaits) << "0.06 with the one that runs";
    EXPECT_EQ(queue.add({.id = 4, .cost = 0.01}), Answer::kWaits) << "nobody overtakes";
    EXPECT_EQ(queue.next(), std::nullopt);
    queue.ended(2);
    EXPECT_EQ(queue.next(), 3U);
    EXPECT_EQ(queue.next(), 4U);
    EXPECT_DOUBLE_EQ(queue.cost_of_running(), 0.04);
}

TEST(CaptureQueueTest, WhatIsForcedRunsWhateverItCosts) {
    CaptureQueue queue({.concurrent = 2, .waiting = 1, .budget = 0.05});
    EXPECT_EQ(queue.add({.id = 1, .cost = 0.5, .forced = true}), Answer::kRuns);
    EXPECT_EQ(queue.add({.id = 2, .cost = 0.01}), Answer::kWaits) << "what it costs counts against the others";
    queue.ended(1);
    queue.set_budget(0.005);
    EXPECT_EQ(queue.next(), 2U) << "alone it runs, though the budget was lowered since";
}

TEST(CaptureQueueTest, NothingIsLostOrRunTwiceWhateverComes) {
    std::minstd_rand random(1);
    for (int round = 0; round < 200; ++round) {
        const CaptureQueue::Limits limits{.concurrent = 1 + random() % 3, .waiting = random() % 4, .budget = 0.05};
        CaptureQueue queue(limits);
        std::set<CaptureQueue::Id> running;
        std::set<CaptureQueue::Id> waiting;
        for (CaptureQueue::Id id = 1; id < 60; ++id) {
            const double cost = static_cast<double>(random() % 70) / 1000;
            const auto answer = queue.add({.id = id, .cost = cost, .forced = random() % 8 == 0});
            if (answer == Answer::kRuns) running.insert(id);
            if (answer == Answer::kWaits) waiting.insert(id);
            if (random() % 2 == 0 && !running.empty()) {
                queue.ended(*running.begin());
                running.erase(running.begin());
            }
            while (const auto next = queue.next()) {
                ASSERT_EQ(*next, *waiting.begin()) << "first come, first served";
                waiting.erase(*next);
                ASSERT_TRUE(running.insert(*next).second);
            }
            ASSERT_EQ(queue.running().size(), running.size());
            ASSERT_EQ(queue.waiting().size(), waiting.size());
            ASSERT_LE(running.size(), limits.concurrent);
            ASSERT_LE(waiting.size(), limits.waiting);
        }
    }
}

}  // namespace
}  // namespace perfvigil::daemon
