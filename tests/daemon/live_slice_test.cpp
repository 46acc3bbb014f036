// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/live_slice.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/clock_slice.hpp"

namespace perfvigil::daemon {
namespace {

using analyzer::Mode;
using std::chrono::seconds;
using test::cpu_slice;
using test::kTick;

struct LiveSliceTest : testing::Test {
    LiveSliceTest() {
        collector::EventInfo clock;
        clock.name = "cpu-clock";
        clock.attr.type = collector::kTypeSoftware;
        clock.attr.config = collector::kSwCpuClock;
        collector::EventInfo cycles;
        cycles.name = "cycles";
        cycles.attr.type = collector::kTypeHardware;
        events = {cycles, clock};
        slice.end = slice.start + seconds(5);
        slice.wall_end = WallTime(seconds(1'700'000'000));
        slice.totals.resize(2);
        slice.totals[1].samples = 990;
        slice.totals[1].lost = 3;
        slice.cpus = {cpu_slice(0, 200, 40, 7), cpu_slice(2, 0, 0, 0)};
    }
    boost::json::object made() {
        return boost::json::parse(
                   live_slice_json({.number = 7, .slice = slice, .hotspots = {rows}, .events = events, .cost = cost}))
            .as_object();
    }
    void add(std::string_view function, std::string_view unit, std::uint64_t ticks, std::uint32_t event = 1) {
        rows.push_back({.function = function,
                        .dso = "/usr/bin/app",
                        .unit = unit,
                        .event = event,
                        .samples = ticks,
                        .weight = ticks * static_cast<std::uint64_t>(kTick.count())});
    }
    analyzer::Slice slice;
    std::vector<analyzer::SliceHotspots::Row> rows;
    std::vector<collector::EventInfo> events;
    std::optional<LiveSlice::Cost> cost;
};

TEST_F(LiveSliceTest, SaysWhenAndHowBusy) {
    const auto json = made();
    EXPECT_EQ(json.at("number").to_number<int>(), 7);
    EXPECT_EQ(json.at("end").as_string(), "2023-11-14T22:13:20.000Z");
    EXPECT_DOUBLE_EQ(json.at("duration_seconds").to_number<double>(), 5);
    const auto& cpu = json.at("cpus").at(0).as_object();
    EXPECT_EQ(cpu.at("cpu").to_number<int>(), 0);
    EXPECT_NEAR(cpu.at("busy").to_number<double>(), 247.0 / 495, 1e-9);
    EXPECT_LT(cpu.at("busy_low").to_number<double>(), 247.0 / 495);
    EXPECT_GT(cpu.at("busy_high").to_number<double>(), 247.0 / 495);
    EXPECT_NEAR(cpu.at("modes").at("user").to_number<double>(), to_seconds(200 * kTick), 1e-9);
    EXPECT_NEAR(cpu.at("modes").at("softirq").to_number<double>(), to_seconds(7 * kTick), 1e-9);
    EXPECT_NEAR(cpu.at("modes").at("idle").to_number<double>(), to_seconds(248 * kTick), 1e-9);
    EXPECT_EQ(json.at("cpus").at(1).at("cpu").to_number<int>(), 2);
    EXPECT_NEAR(json.at("host").at("busy").to_number<double>(), 247.0 / 990, 1e-9);
    EXPECT_EQ(json.at("events").at(1).at("lost").to_number<int>(), 3);
    EXPECT_NEAR(json.at("ledger").at("total").to_number<double>(), to_seconds(990 * kTick), 1e-9);
    EXPECT_FALSE(json.contains("cost"));
}

TEST_F(LiveSliceTest, AFrequencyLeavesOutIdleThatCountsCycles) {
    for (auto& cpu : slice.cpus) {
        cpu.cycles_recorded = true;
        cpu.cycles_counted = 5'000'000'000;  // a billion a second, whatever it does
    }
    EXPECT_FALSE(made().at("cpus").at(0).as_object().contains("effective_hertz")) << "would be 2 GHz";
    auto& busy = slice.cpus[0];
    busy.cycles_samples = 495;
    busy.cycles_sampled = busy.cycles_counted;
    busy.cycles_idle = busy.cycles_counted / 495 * 248;
    const auto json = made();
    EXPECT_NEAR(json.at("cpus").at(0).at("effective_hertz").to_number<double>(), 1e9, 2e7);
    EXPECT_FALSE(json.at("cpus").at(1).as_object().contains("effective_hertz"));
    EXPECT_FALSE(json.at("host").as_object().contains("effective_hertz")) << "CPUs differ";
}

TEST_F(LiveSliceTest, ModesAddUpToTheRecordedTime) {
    slice.cpus[0].lost_time = 30 * kTick;
    slice.cpus[0].samples -= 30;
    slice.cpus[0].idle_samples -= 30;
    slice.cpus[0].lost = 30;
    slice.cpus[0].mode_time[index_of(Mode::kIdle)] -= 30 * kTick;
    const auto json = made();
    const auto& cpu = json.at("cpus").at(0).as_object();
    double sum = 0;
    for (const auto& mode : cpu.at("modes").as_object()) sum += mode.value().to_number<double>();
    EXPECT_NEAR(sum, cpu.at("seconds").to_number<double>(), 1e-9);
    EXPECT_NEAR(cpu.at("modes").at("unknown").to_number<double>(), to_seconds(30 * kTick), 1e-9);
}

// As in metrics and reports: a clock that was throttled while its CPU idled shows idle time, and cycles that count in
// idle make no frequency.
TEST_F(LiveSliceTest, ThrottledIdleTimeIsIdleAndPolledCyclesAreNoFrequency) {
    auto& idle = slice.cpus[1];
    idle.samples = idle.idle_samples = 95;
    idle.mode_time[index_of(Mode::kIdle)] = 95 * kTick;
    idle.throttled = 400 * kTick;
    idle.times_known = true;
    idle.times.idle = static_cast<std::uint64_t>(idle.enabled.count());
    for (auto& cpu : slice.cpus) {
        cpu.cycles_recorded = true;
        cpu.cycles_counted = 5'000'000'000;
    }
    const auto json = made();
    const auto& row = json.at("cpus").at(1).as_object();
    EXPECT_NEAR(row.at("modes").at("unknown").to_number<double>(), 0.02, 1e-9) << "the grain of /proc/stat";
    EXPECT_NEAR(row.at("modes").at("idle").to_number<double>(), to_seconds(495 * kTick) - 0.02, 1e-9);
    EXPECT_FALSE(json.at("cpus").at(0).as_object().contains("effective_hertz")) << "it would be 2 GHz";
}

TEST_F(LiveSliceTest, AFunctionOfTwoUnitsIsOneRow) {
    add("work", "a.service", 100);
    add("work", "b.service", 50);
    add("rest", "b.service", 20);
    add("work", "a.service", 9999, 0);  // of cycles
    const auto json = made();
    EXPECT_NEAR(json.at("cpu_seconds").to_number<double>(), to_seconds(170 * kTick), 1e-9);
    const auto& functions = json.at("functions").as_array();
    ASSERT_EQ(functions.size(), 2U);
    EXPECT_EQ(functions[0].at("function").as_string(), "work");
    EXPECT_EQ(functions[0].at("dso").as_string(), "/usr/bin/app");
    EXPECT_EQ(functions[0].at("samples").to_number<int>(), 150);
    const auto& units = json.at("units").as_array();
    EXPECT_EQ(units[0].at("unit").as_string(), "a.service");
    EXPECT_NEAR(units[1].at("seconds").to_number<double>(), to_seconds(70 * kTick), 1e-9);
    EXPECT_FALSE(units[1].as_object().contains("throttled_seconds"));
}

TEST_F(LiveSliceTest, WhatHasNoRowIsSummed) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kLiveRows + 10; ++i) names.push_back("f" + std::to_string(i));
    for (const auto& name : names) add(name, name, 2);
    const auto json = made();
    EXPECT_EQ(json.at("functions").as_array().size(), kLiveRows);
    EXPECT_NEAR(json.at("other_functions_seconds").to_number<double>(), to_seconds(20 * kTick), 1e-9);
    EXPECT_NEAR(json.at("other_units_seconds").to_number<double>(), to_seconds(20 * kTick), 1e-9);
}

TEST_F(LiveSliceTest, AThrottledUnitIsThereWithoutASample) {
    slice.waits.throttled = {{"/system.slice/slow.service", 9, 4, seconds(2)}};
    const auto json = made();
    const auto& unit = json.at("units").at(0).as_object();
    EXPECT_EQ(unit.at("unit").as_string(), "slow.service");
    EXPECT_DOUBLE_EQ(unit.at("throttled_seconds").to_number<double>(), 2);
    EXPECT_DOUBLE_EQ(unit.at("seconds").to_number<double>(), 0);
}

TEST_F(LiveSliceTest, ForeignNamesAreEscapedAndUnknownOnesSayWhy) {
    add("a\x1b[31m\xff", "u", 5);
    rows.back().reason = analyzer::UnknownReason::kNoSymbols;
    const auto json = made();
    const auto& row = json.at("functions").at(0).as_object();
    EXPECT_EQ(row.at("function").as_string(), "a\\x1b[31m\\xff");
    EXPECT_EQ(row.at("reason").as_string(), analyzer::reason_name(analyzer::UnknownReason::kNoSymbols));
}

TEST_F(LiveSliceTest, TellsItsCost) {
    cost = {.processes = 0.002, .kernel = 0.001, .captures = 0.01, .budget = 0.01, .assumed = true};
    const auto json = made();
    const auto& told = json.at("cost").as_object();
    EXPECT_DOUBLE_EQ(told.at("kernel").to_number<double>(), 0.001);
    EXPECT_DOUBLE_EQ(told.at("processes").to_number<double>(), 0.002);
    EXPECT_TRUE(told.at("assumed").as_bool());
}

TEST(LiveJson, PutsSlicesInTheirSurroundings) {
    const LiveHead head{.run = WallTime(seconds(1'700'000'000)),
                        .state = RunState::kRecording,
                        .slice = seconds(5),
                        .window = seconds(60),
                        .hostname = "h\"ost",
                        .degraded = {{"no_pmu", "no cycles", "none"}}};
    const auto slices = LiveSlices{std::make_shared<const std::string>(R"({"number":1})"),
                                   std::make_shared<const std::string>(R"({"number":2})")};
    const auto json = boost::json::parse(live_json(head, slices)).as_object();
    EXPECT_EQ(json.at("state").as_string(), "recording");
    EXPECT_EQ(json.at("host").as_string(), "h\"ost");
    EXPECT_EQ(json.at("degraded").at(0).at("reason").as_string(), "no_pmu");
    EXPECT_EQ(json.at("slices").as_array().size(), 2U);
    EXPECT_EQ(json.at("slices").at(1).at("number").to_number<int>(), 2);
    EXPECT_TRUE(boost::json::parse(live_json(head, {})).at("slices").as_array().empty());
}

}  // namespace
}  // namespace perfvigil::daemon
