// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace perfvigil::daemon {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr MonotonicTime at(int s) { return MonotonicTime(seconds(s)); }

TEST(PulseTest, ReadyNeedsASliceAndLivingThreads) {
    Pulse pulse;
    EXPECT_EQ(why_not_ready(pulse, at(100)), "starting");
    EXPECT_EQ(why_unhealthy(pulse, at(100)), "") << "a daemon that starts is not sick";
    pulse = {.state = RunState::kRecording, .sampler_beat = at(100), .analyst_beat = at(99), .slices = 0};
    EXPECT_EQ(why_not_ready(pulse, at(100)), "no slice is complete yet");
    pulse.slices = 1;
    EXPECT_EQ(why_not_ready(pulse, at(100)), "");
    EXPECT_EQ(why_not_ready(pulse, at(109)), "");
    EXPECT_EQ(why_not_ready(pulse, at(111)), "the sampler has not run for 11 s");
    EXPECT_EQ(why_unhealthy(pulse, at(111)), "the sampler has not run for 11 s");
    pulse.sampler_beat = at(200);
    EXPECT_EQ(why_unhealthy(pulse, at(200)), "the analyst has not run for 101 s");
}

TEST(PulseTest, AnEndedReplayHasNoSampler) {
    Pulse pulse{.state = RunState::kEnded, .sampler_beat = at(1), .analyst_beat = at(500), .slices = 3};
    EXPECT_EQ(why_not_ready(pulse, at(500)), "");
    pulse.state = RunState::kStopping;
    EXPECT_EQ(why_not_ready(pulse, at(500)), "stopping");
}

TEST(StatusJsonTest, HoldsEveryPart) {
    Status status{.state = RunState::kRecording,
                  .not_ready = "no slice is complete yet",
                  .config_file = "/etc/perfvigil/perfvigil.yaml",
                  .source = "kernel",
                  .hostname = "h\x1b",
                  .uptime = std::chrono::milliseconds(1500),
                  .slice = seconds(5),
                  .window = seconds(60),
                  .store_directory = "/s",
                  .store_limit = 7,
                  .store_windows = 3,
                  .captures_enabled = true,
                  .captures_directory = "/c",
                  .captures_limit = 9};
    status.recording.events = {{"cpu-clock", 99}};
    status.recording.cpus = {CpuId{0}, CpuId{2}};
    status.recording.counters = {{"samples", 42}};
    status.recording.profile_bytes = 5;
    status.degraded = {{"no_pmu", "d", "r"}};
    const auto json = boost::json::parse(status_json(status)).as_object();
    EXPECT_EQ(json.at("state").as_string(), "recording");
    EXPECT_FALSE(json.at("ready").as_bool());
    EXPECT_EQ(json.at("not_ready_reason").as_string(), "no slice is complete yet");
    EXPECT_EQ(json.at("host").as_string(), "h\\x1b");
    EXPECT_DOUBLE_EQ(json.at("uptime_seconds").as_double(), 1.5);
    EXPECT_EQ(json.at("events").as_array().at(0).at("frequency_hertz").to_number<int>(), 99);
    EXPECT_EQ(json.at("cpus").as_array().size(), 2U);
    EXPECT_EQ(json.at("counters").at("samples").to_number<int>(), 42);
    EXPECT_EQ(json.at("store").at("dir").as_string(), "/s");
    EXPECT_EQ(json.at("store").at("bytes").to_number<int>(), 5);
    EXPECT_EQ(json.at("store").at("count").to_number<int>(), 3);
    EXPECT_EQ(json.at("captures").at("bytes_limit").to_number<int>(), 9);
    EXPECT_EQ(json.at("degraded").as_array().at(0).at("reason").as_string(), "no_pmu");
    EXPECT_FALSE(json.contains("last_slice_end"));
}

}  // namespace
}  // namespace perfvigil::daemon
