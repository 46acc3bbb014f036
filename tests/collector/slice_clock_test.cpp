// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/slice_clock.hpp"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.hpp"

namespace perfvigil::collector {
namespace {

using namespace std::chrono_literals;

class SliceClockTest : public testing::Test {
protected:
    SliceClockTest() { clock.set_wall(WallTime(1'700'000'003s)); }
    test::ManualClock clock;
};

TEST_F(SliceClockTest, EndsAtMultiplesOfWallTime) {
    SliceClock slice(clock, 5s);
    EXPECT_EQ(slice.boundary() - clock.monotonic(), 2s);
    EXPECT_FALSE(slice.due());
    clock.advance(2s - 1ns);
    EXPECT_FALSE(slice.due());
    clock.advance(1ms);  // a little late is still on time
    const auto due = slice.due();
    ASSERT_TRUE(due);
    EXPECT_EQ(due->time, slice.boundary());
    EXPECT_EQ(due->wall, WallTime(1'700'000'005s));
    EXPECT_FALSE(due->stepped);
    slice.cut_made(due->time);
    EXPECT_EQ(slice.boundary() - due->time, 5s);
}

TEST_F(SliceClockTest, ALateComerCutsNow) {
    SliceClock slice(clock, 5s);
    clock.advance(5s);
    const auto due = slice.due();
    ASSERT_TRUE(due);
    EXPECT_EQ(due->time, clock.monotonic());
    EXPECT_EQ(due->wall, WallTime(1'700'000'008s));
    EXPECT_FALSE(due->stepped);
    slice.cut_made(due->time);
    EXPECT_EQ(slice.boundary() - clock.monotonic(), 2s) << "and is back on the grid";
}

TEST_F(SliceClockTest, SliversArePassedOver) {
    clock.set_wall(WallTime(1'700'000'004'600ms));
    SliceClock slice(clock, 5s);
    EXPECT_EQ(slice.boundary() - clock.monotonic(), 5400ms);
    clock.set_wall(WallTime(1'700'000'004'400ms));
    EXPECT_EQ(SliceClock(clock, 5s).boundary() - clock.monotonic(), 600ms);
}

TEST_F(SliceClockTest, SlewingWallTimeRepeatsNoBoundary) {
    SliceClock slice(clock, 5s);
    clock.advance(2s);
    const auto due = slice.due();
    ASSERT_TRUE(due);
    // Wall time was slowed down: at the boundary it has not quite got there.
    clock.set_wall(WallTime(1'700'000'005s - 3ms));
    slice.cut_made(due->time);
    EXPECT_EQ(slice.boundary() - due->time, 5003ms);
}

TEST_F(SliceClockTest, StepsAndSuspendsCutAtOnce) {
    struct Case {
        Nanoseconds step;
        bool noticed;
    };
    for (const Case& c : {Case{40ms, false}, {-40ms, false}, {60ms, true}, {-60ms, true}, {1h, true}, {-1h, true}}) {
        SliceClock slice(clock, 5s);
        clock.advance(500ms);
        clock.set_wall(clock.wall() + c.step);
        const auto due = slice.due();
        ASSERT_EQ(due.has_value(), c.noticed) << c.step.count();
        if (due) {
            EXPECT_TRUE(due->stepped);
            EXPECT_EQ(due->time, clock.monotonic());
            EXPECT_EQ(due->wall, clock.wall());
            slice.cut_made(due->time);
            EXPECT_FALSE(slice.due()) << "said once";
            EXPECT_LE(slice.boundary() - clock.monotonic(), 5500ms);
        }
        clock.set_wall(WallTime(1'700'000'003s));
    }
}

// A clock on which every other read is followed by a long pause.
class Preempted final : public Clock {
public:
    MonotonicTime monotonic() const override {
        if (reads++ % 3 == 0) now += 100ms;
        return MonotonicTime(now);
    }
    WallTime wall() const override { return WallTime(1'700'000'000s + now); }
    mutable int reads = 0;
    mutable Nanoseconds now{};
};

TEST(SliceClock, APauseBetweenTwoReadsIsNoStep) {
    const Preempted clock;
    SliceClock slice(clock, 3600s);
    for (int i = 0; i < 100; ++i) {
        const auto due = slice.due();
        EXPECT_FALSE(due && due->stepped) << i;
    }
}

}  // namespace
}  // namespace perfvigil::collector
