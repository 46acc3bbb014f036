// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/raw_captures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <numeric>

#include "base/time_text.hpp"
#include "tests/support/synthetic_capture.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Where wall times are, cuts tell: the first slice's end.
class WallSink final : public collector::RecordSink {
public:
    void on_record(const collector::OrderedRecord&) override {}
    void on_cut(const collector::Cut& cut) override {
        if (!offset) offset = cut.wall - WallTime(cut.time.time_since_epoch());
    }
    std::optional<Nanoseconds> offset;
};

struct RawCapturesTest : testing::Test {
    RawCapturesTest() {
        test::SyntheticOptions options;
        options.slices = 4;
        options.cpus[0].busy = 1;
        options.cpus[1].busy = 0;
        options.cpus[1].samples_idle = false;
        test::SyntheticStream looked_at(options);
        WallSink sink;
        looked_at.run(sink);
        start = WallTime(looked_at.start().time_since_epoch() + *sink.offset);
        test::SyntheticStream stream(options);
        const auto bytes = test::written_capture(stream, stream.host());
        if (bytes) folder.write(compact_time(start) + ".perf.data", Bytes(*bytes));
    }
    test::TempFolder folder;
    WallTime start{};
    std::stop_token stop;
    std::string directory() { return folder.path().string(); }
};

TEST_F(RawCapturesTest, CountsBusySamplesByThePartOfTheSecond) {
    const auto map = heat_map(directory(), {start, start + seconds(20)}, 10, stop);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(map->start, std::chrono::floor<seconds>(start));
    EXPECT_GE(map->columns(), 20U);
    EXPECT_NEAR(map->hertz, 99, 0.1);
    EXPECT_EQ(map->event, "cpu-clock");
    const auto all = std::accumulate(map->busy.begin(), map->busy.end(), std::uint64_t{0});
    EXPECT_NEAR(static_cast<double>(all), 20 * 99, 12) << "one CPU of two is busy";
    // Each tenth of a whole second has a tenth of its samples.
    for (std::size_t row = 0; row < 10; ++row) EXPECT_NEAR(map->busy[5 * 10 + row], 9.9, 1.2) << row;
    // The other CPU wrote nothing in most seconds; it is counted where it is known from others.
    EXPECT_EQ(map->cpus[5], *std::ranges::max_element(map->cpus));
}

TEST_F(RawCapturesTest, RowsAreEvenUnlessTheyAreNamed) {
    const auto map = heat_map(directory(), {start, start + seconds(20)}, 0, stop);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(map->rows, 33U);
    // A busy CPU's three ticks, give or take one at the edge.
    for (std::size_t row = 0; row < 33; ++row) EXPECT_NEAR(map->busy[5 * 33 + row], 3, 1) << row;
    EXPECT_EQ(even_rows(99), 33U);
    EXPECT_EQ(even_rows(100), 50U);
    EXPECT_EQ(even_rows(999), 37U);
    EXPECT_EQ(even_rows(97), 97U);
    EXPECT_EQ(even_rows(4000), 50U);
    EXPECT_EQ(even_rows(0), 50U);
}

TEST_F(RawCapturesTest, SaysWhereNothingIsKept) {
    const auto map = heat_map(directory(), {start - seconds(30), start + seconds(2)}, 10, stop);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(map->cpus.front(), 0U);
    EXPECT_GT(map->cpus.back(), 0U);
    const auto none = heat_map(directory(), {start - minutes(30), start - minutes(25)}, 10, stop);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(heat_map("/nonexistent", {start, start + seconds(1)}, 10, stop));
}

TEST_F(RawCapturesTest, AProfileIsOfExactlyItsStretch) {
    const auto profile = raw_profile(directory(), {start + milliseconds(3000), start + milliseconds(3500)}, stop);
    ASSERT_TRUE(profile) << profile.error().message;
    const auto clock = std::ranges::find(profile->events, "cpu-clock", &analyzer::ProfileEvent::name);
    ASSERT_NE(clock, profile->events.end());
    EXPECT_NEAR(static_cast<double>(clock->samples - clock->idle_samples), 49.5, 2);
    EXPECT_TRUE(profile->filter.empty());
    EXPECT_FALSE(raw_profile(directory(), {start + minutes(5), start + minutes(6)}, stop));
}

TEST_F(RawCapturesTest, DamagedFilesCostTheirPart) {
    folder.write("20260101T000000Z.perf.data", "no capture at all");
    folder.write(compact_time(start) + "-2.perf.data", "nor this");
    EXPECT_TRUE(heat_map(directory(), {start, start + seconds(2)}, 10, stop));
    EXPECT_TRUE(raw_profile(directory(), {start, start + seconds(2)}, stop));
}

TEST_F(RawCapturesTest, EndsWhenTheDaemonDoes) {
    std::stop_source source;
    source.request_stop();
    const auto map = heat_map(directory(), {start, start + seconds(2)}, 10, source.get_token());
    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().code, ErrorCode::kBusy);
}

TEST_F(RawCapturesTest, WhatOnlyAFreezeHoldsIsReadToo) {
    const auto whole = heat_map(directory(), {start, start + seconds(20)}, 10, stop);
    ASSERT_TRUE(whole);
    const auto name = compact_time(start) + ".perf.data";
    const auto freeze = folder.path() / "frozen" / "20260131T120730Z-busy";
    std::filesystem::create_directories(freeze);
    std::filesystem::create_hard_link(folder.path() / name, freeze / name);
    std::filesystem::copy(folder.path() / name, freeze / "triggered.perf.data");
    EXPECT_EQ(kept_captures(directory()).size(), 1U) << "two names of one file, and what a rule recorded beside";
    EXPECT_EQ(heat_map(directory(), {start, start + seconds(20)}, 10, stop)->busy, whole->busy);
    std::filesystem::remove(folder.path() / name);
    const auto frozen = heat_map(directory(), {start, start + seconds(20)}, 10, stop);
    ASSERT_TRUE(frozen) << frozen.error().message;
    EXPECT_EQ(frozen->busy, whole->busy);
}

TEST(CapturesBetween, AreThoseThatOverlap) {
    const auto file = [](const char* path, int begun, int written) {
        return CaptureFileInfo{.path = path, .begun = WallTime(seconds(begun)), .written = WallTime(seconds(written))};
    };
    const auto chosen = captures_between({file("c", 1200, 1800), file("a", 0, 600), file("b", 600, 1200)},
                                         {WallTime(seconds(700)), WallTime(seconds(800))});
    ASSERT_EQ(chosen.size(), 1U);
    EXPECT_EQ(chosen.front().path, "b");
}

TEST(HeatJson, IsColumnsOfCounts) {
    const HeatMap map{.start = WallTime(seconds(100)),
                      .rows = 2,
                      .busy = {1, 2, 3, 4},
                      .cpus = {2, 0},
                      .hertz = 99,
                      .event = "cpu-clock"};
    const auto json = boost::json::parse(heat_json(map)).as_object();
    EXPECT_EQ(json.at("start").as_string(), "1970-01-01T00:01:40.000Z");
    EXPECT_EQ(json.at("columns").at(1).at("busy").at(0).to_number<int>(), 3);
    EXPECT_EQ(json.at("columns").at(1).at("cpus").to_number<int>(), 0);
    EXPECT_EQ(json.at("rows").to_number<int>(), 2);
}

}  // namespace
}  // namespace perfvigil::daemon
