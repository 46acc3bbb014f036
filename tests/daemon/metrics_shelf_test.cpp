// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/metrics_shelf.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace perfvigil::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime at(Nanoseconds time) { return MonotonicTime(time); }
void put(MetricsShelf& shelf, int slice) {
    shelf.put(std::to_string(slice), at(seconds(5 * slice)), at(seconds(5 * slice)));
}

TEST(MetricsShelf, TheFirstTextsAreShownAtOnce) {
    MetricsShelf shelf(seconds(5));
    EXPECT_EQ(*shelf.take(at(seconds(1))), "");
    shelf.put("before any slice", MetricsShelf::kNever, MetricsShelf::kNever);
    EXPECT_EQ(*shelf.take(at(seconds(2))), "before any slice");
    EXPECT_EQ(shelf.newest_served(), MetricsShelf::kNever);
    put(shelf, 1);
    EXPECT_EQ(*shelf.take(at(milliseconds(5001))), "1");
    EXPECT_EQ(shelf.newest_served(), at(seconds(5)));
}

TEST(MetricsShelf, ASliceShowsFromAFixedMomentOn) {
    MetricsShelf shelf(seconds(5));
    put(shelf, 1);
    put(shelf, 2);
    put(shelf, 3);
    EXPECT_EQ(*shelf.take(at(milliseconds(15100))), "2");
    EXPECT_EQ(shelf.newest_served(), at(seconds(10)));
    EXPECT_EQ(*shelf.take(at(milliseconds(15700))), "2");
    EXPECT_EQ(*shelf.take(at(milliseconds(16300))), "3");
    EXPECT_EQ(shelf.newest_served(), at(seconds(15)));
    EXPECT_EQ(*shelf.take(at(seconds(500))), "3") << "an analyst that hangs shows what it had";
}

TEST(MetricsShelf, AnOlderTextDoesNotUnserveANewerOne) {
    MetricsShelf shelf(seconds(5));
    put(shelf, 1);
    put(shelf, 2);
    EXPECT_EQ(*shelf.take(at(seconds(12))), "2");
    put(shelf, 3);
    EXPECT_EQ(*shelf.take(at(milliseconds(15100))), "2");
    EXPECT_EQ(shelf.newest_served(), at(seconds(10)));
}

// A scraper every 15 s with 20 ms of jitter, at any phase: it always sees three slices more, but for the one time when
// its jitter first takes it into the margin.
TEST(MetricsShelf, AScraperNeverSeesOneMoreOrLess) {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> jitter(-20, 20);
    for (int phase = 0; phase < 5000; phase += 10) {
        MetricsShelf shelf(seconds(5));
        int slice = 0;
        int seen = 0;
        int odd = 0;
        for (int scrape = 1; scrape <= 40; ++scrape) {
            const MonotonicTime now = at(seconds(15 * scrape) + milliseconds(phase + jitter(random)));
            const auto ready = [](int number) {
                return at(seconds(5 * number) + milliseconds(100 + number * 61 % 700));
            };
            while (ready(slice + 1) <= now) put(shelf, ++slice);
            const int shown = std::stoi(*shelf.take(now));
            if (scrape > 2 && shown != seen + 3) ++odd;
            seen = shown;
        }
        EXPECT_LE(odd, 1) << "phase " << phase << " ms";
    }
}

TEST(MetricsShelf, TwoScrapersAtTwoMomentsLeaveTheThird) {
    MetricsShelf shelf(seconds(5));
    for (int slice = 1; slice < 20; ++slice) {
        put(shelf, slice);
        (void)shelf.take(at(seconds(5 * slice + 1)));
        (void)shelf.take(at(seconds(5 * slice + 2)));
    }
    EXPECT_EQ(*shelf.take(at(milliseconds(95000 + 2800))), "18");
    EXPECT_EQ(*shelf.take(at(milliseconds(95000 + 3200))), "19");
}

TEST(MetricsShelf, AReplaysTimeIsNotTheHosts) {
    MetricsShelf shelf(seconds(5));
    shelf.put("a", at(seconds(5)), at(seconds(1000)));
    shelf.put("b", at(seconds(10)), at(seconds(1001)));
    EXPECT_EQ(*shelf.take(at(milliseconds(1001500))), "a");
    EXPECT_EQ(*shelf.take(at(milliseconds(1002100))), "b");
    EXPECT_EQ(shelf.newest_served(), at(seconds(10)));
}

}  // namespace
}  // namespace perfvigil::daemon
