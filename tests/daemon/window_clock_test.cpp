// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/window_clock.hpp"

#include <gtest/gtest.h>

namespace perfvigil::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

WallTime wall(Nanoseconds since_epoch) { return WallTime(since_epoch); }

// Ends of windows (in seconds) when slices of `slice` end at these times.
std::vector<std::int64_t> window_ends(WindowClock& clock, const std::vector<Nanoseconds>& ends, Nanoseconds slice) {
    std::vector<std::int64_t> closed;
    Nanoseconds previous{};
    for (const auto end : ends) {
        if (clock.ends_before(wall(end), slice)) {
            clock.close();
            closed.push_back(previous / seconds(1));
        }
        if (clock.add(wall(end), slice)) {
            clock.close();
            closed.push_back(std::chrono::round<seconds>(end).count());
        }
        previous = end;
    }
    return closed;
}

TEST(WindowClockTest, ClosesAtMultiplesOfTheWindow) {
    WindowClock clock(seconds(60));
    std::vector<Nanoseconds> ends;
    for (int s = 5; s <= 180; s += 5) ends.emplace_back(seconds(s));
    EXPECT_EQ(window_ends(clock, ends, seconds(5)), (std::vector<std::int64_t>{60, 120, 180}));
}

TEST(WindowClockTest, BlurredSliceEndsDoNotMatter) {
    for (const auto blur : {milliseconds(-40), milliseconds(-1), milliseconds(1), milliseconds(40)}) {
        WindowClock clock(seconds(5));
        std::vector<Nanoseconds> ends;
        for (int s = 1; s <= 15; ++s) ends.emplace_back(seconds(s) + blur);
        EXPECT_EQ(window_ends(clock, ends, seconds(1)), (std::vector<std::int64_t>{5, 10, 15})) << blur.count();
    }
}

TEST(WindowClockTest, WindowOfOneSlice) {
    WindowClock clock(seconds(5));
    EXPECT_EQ(window_ends(clock, {seconds(5), seconds(10)}, seconds(5)), (std::vector<std::int64_t>{5, 10}));
}

TEST(WindowClockTest, MissedSlicesCloseTheWindowBefore) {
    WindowClock clock(seconds(60));
    EXPECT_EQ(window_ends(clock, {seconds(50), seconds(55), seconds(65), seconds(70)}, seconds(5)),
              (std::vector<std::int64_t>{55}));
    WindowClock back(seconds(60));
    EXPECT_EQ(window_ends(back, {seconds(95), seconds(35)}, seconds(5)), (std::vector<std::int64_t>{95}))
        << "the wall clock went back";
}

TEST(WindowClockTest, SaysWhatIsPartial) {
    WindowClock clock(seconds(60));
    for (int s = 5; s <= 60; s += 5) {
        EXPECT_EQ(clock.add(wall(seconds(s)), seconds(5)), s == 60);
    }
    EXPECT_FALSE(clock.close());
    // Started in the middle of a slice.
    EXPECT_FALSE(clock.add(wall(seconds(65)), milliseconds(3)));
    for (int s = 70; s <= 120; s += 5) EXPECT_EQ(clock.add(wall(seconds(s)), seconds(5)), s == 120);
    EXPECT_TRUE(clock.close());
    EXPECT_FALSE(clock.add(wall(seconds(125)), seconds(5)));
    EXPECT_TRUE(clock.close()) << "shut down early";
}

TEST(WindowClockTest, TimesBeforeTheEpochAreTimesToo) {
    WindowClock clock(seconds(60));
    EXPECT_EQ(window_ends(clock, {seconds(-65), seconds(-60), seconds(-55)}, seconds(5)),
              (std::vector<std::int64_t>{-60}));
}

}  // namespace
}  // namespace perfvigil::daemon
