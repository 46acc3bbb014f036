// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/wall_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "base/time_text.hpp"

namespace perfvigil::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::HasSubstr;

class WallTimesTest : public testing::Test {
protected:
    void SetUp() override { zone("Europe/Berlin"); }
    void TearDown() override {
        if (before_) {
            zone(before_->c_str());
        } else {
            ::unsetenv("TZ");
            ::tzset();
        }
    }
    static void zone(const char* name) {
        ::setenv("TZ", name, 1);
        ::tzset();
    }
    // 2026-11-30 10:15:00 UTC, 11:15 in Berlin.
    static constexpr WallTime kNow =
        WallTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 30)) + hours(10) + minutes(15);
    static std::string parsed(std::string_view text, WallTime now = kNow) {
        const auto time = parse_wall_time(text, now);
        return time ? iso_time(*time) : time.error().message;
    }

    std::optional<std::string> before_ =
        std::getenv("TZ") != nullptr ? std::optional<std::string>(std::getenv("TZ")) : std::nullopt;
};

TEST_F(WallTimesTest, SoLongAgo) {
    EXPECT_EQ(parsed("now"), "2026-11-30T10:15:00.000Z");
    EXPECT_EQ(parsed("2h"), "2026-11-30T08:15:00.000Z");
    EXPECT_EQ(parsed("90s"), "2026-11-30T10:13:30.000Z");
    EXPECT_EQ(parsed("1d"), "2026-11-29T10:15:00.000Z");
}

TEST_F(WallTimesTest, TheTimeOfDayIsTheCallers) {
    EXPECT_EQ(parsed("09:00"), "2026-11-30T08:00:00.000Z");
    EXPECT_EQ(parsed("11:15"), "2026-11-30T10:15:00.000Z");
    EXPECT_EQ(parsed("11:15:01"), "2026-11-29T10:15:01.000Z") << "still to come: yesterday's";
    EXPECT_EQ(parsed("2026-11-29 09:00"), "2026-11-29T08:00:00.000Z");
    EXPECT_EQ(parsed("2026-11-29T09:00:30.25"), "2026-11-29T08:00:30.250Z");
    EXPECT_EQ(parsed("2026-11-29"), "2026-11-28T23:00:00.000Z");
    EXPECT_EQ(parsed("2026-07-01 09:00"), "2026-07-01T07:00:00.000Z") << "summer";
    EXPECT_EQ(parsed("2026-11-29T09:00:00.000Z"), "2026-11-29T09:00:00.000Z");
    EXPECT_EQ(parsed("09:00Z"), "2026-11-30T09:00:00.000Z");
    const auto first_of_month = WallTime(std::chrono::sys_days(std::chrono::year(2026) / 12 / 1));
    EXPECT_EQ(parsed("09:00", first_of_month), "2026-11-30T08:00:00.000Z");
    zone("America/New_York");
    EXPECT_EQ(parsed("2026-11-29 09:00"), "2026-11-29T14:00:00.000Z");
}

TEST_F(WallTimesTest, DaysOnWhichClocksChange) {
    EXPECT_EQ(parsed("2026-03-29 01:59"), "2026-03-29T00:59:00.000Z");
    EXPECT_THAT(parsed("2026-03-29 02:30"), HasSubstr("there is no 2026-03-29 02:30 that day"));
    EXPECT_EQ(parsed("2026-03-29 03:00"), "2026-03-29T01:00:00.000Z");
}

TEST_F(WallTimesTest, WhatIsNoTimeIsRefused) {
    for (const auto* text :
         {"", "9", "9:00", "24:00", "09:60", "09:00:60", "2026-13-01", "2026-11-29 9:00", "09:00 CET",
          "2026-11-29X09:00", "yesterday", "-2h", "09:00:00.", "09:00:00.1234567891", "\x1b[31m"}) {
        EXPECT_THAT(parsed(text), HasSubstr("is no time")) << text;
    }
    EXPECT_THAT(parsed("2026-02-30 10:00"), HasSubstr("there is no"));
}

TEST_F(WallTimesTest, Spans) {
    const auto span = parse_wall_span("09:00..09:10", kNow);
    ASSERT_TRUE(span);
    EXPECT_EQ(span->until - span->since, minutes(10));
    EXPECT_EQ(local_span(*span), "2026-11-30 09:00:00 to 2026-11-30 09:10:00 CET (UTC+01:00)");
    const auto over_midnight = parse_wall_span("23:50..00:10", kNow);
    ASSERT_TRUE(over_midnight);
    EXPECT_EQ(over_midnight->until - over_midnight->since, minutes(20));
    EXPECT_EQ(wall_span("2h", "1h", kNow).value(), (WallSpan{kNow - hours(2), kNow - hours(1)}));
    EXPECT_EQ(wall_span("2h", "", kNow).value(), (WallSpan{kNow - hours(2), kNow}));
    EXPECT_THAT(wall_span("1h", "2h", kNow).error().message, HasSubstr("ends before it begins"));
    for (const auto* text : {"09:00", "09:00..", "..09:10", "09:00..x"})
        EXPECT_FALSE(parse_wall_span(text, kNow)) << text;
    zone("America/St_Johns");
    EXPECT_EQ(local_zone(kNow), "NST (UTC-03:30)");
}

}  // namespace
}  // namespace perfvigil::cli
