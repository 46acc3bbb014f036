// SPDX-License-Identifier: GPL-2.0-or-later
// What is lost when the reader is away: every lost sample counted, side-band storms kept out of the sample ring, and
// the state of processes read again after side-band records were lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;
using namespace std::chrono_literals;

RecordingOptions on_cpu_1(std::uint32_t hertz) {
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.cpus = {CpuId{1}};
    options.tuning.frequency = hertz;
    options.slice = 1s;
    return options;
}

// Does not come back to pump for `away`, once `after` has passed.
std::function<void(std::chrono::nanoseconds)> stall_once(std::chrono::nanoseconds after,
                                                         std::chrono::nanoseconds away) {
    return [after, away, done = false](std::chrono::nanoseconds elapsed) mutable {
        if (done || elapsed < after) return;
        done = true;
        std::this_thread::sleep_for(away);
    };
}

// Ticks that left no sample between samples that are less than half a second apart.
double missing_ticks(const Recorded& recorded, double period) {
    double missing = 0;
    for (std::size_t i = 1; i < recorded.samples.size(); ++i) {
        const double apart = to_seconds(recorded.samples[i].time - recorded.samples[i - 1].time);
        if (apart > 1.5 * period && apart < 0.5) missing += apart / period - 1;
    }
    return missing;
}

TEST(RecordingLoss, ReaderAwayThreeSecondsAtFiveKilohertz) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const Client load("spin", {"60", "1"});
    RecordingOptions options = on_cpu_1(5000);
    options.tuning.sample_ring_bytes = 64U << 10;
    options.drain_interval = 20ms;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    record_for(**session, recorded, 6s, stall_once(1500ms, 3s));

    const double period = 200e-6;
    const Truth truth = truth_of(recorded, 0, 1);
    const double due = truth.enabled_s / period;
    const auto delivered = static_cast<double>(recorded.samples.size());
    // What a hypervisor took shows as ticks that are missing where we were not away; it took as much while we were.
    const double stolen = stolen_s(recorded, 1) / period + 2 * missing_ticks(recorded, period);
    EXPECT_GT(static_cast<double>(truth.lost), 0.4 * 3 / period) << "the ring holds far less than three seconds";
    EXPECT_LE(delivered + static_cast<double>(truth.lost), due + 2);
    EXPECT_NEAR(due - delivered, static_cast<double>(truth.lost), 0.01 * due + stolen);
    EXPECT_GT((*session)->counters().lost_sample_records, 0U);
    EXPECT_EQ((*session)->counters().late_records, 0U);

    // And slice by slice: the one that we slept through is as long as its counters say.
    ASSERT_EQ(recorded.reads.size(), 2U);
    const auto clock = std::ranges::find_if(recorded.reads, [](const auto& r) { return r.second.front().event == 0; });
    ASSERT_NE(clock, recorded.reads.end());
    const std::vector<SeenRead>& reads = clock->second;
    ASSERT_EQ(reads.size(), recorded.cuts.size() + 1);
    double longest = 0;
    for (std::size_t i = 0; i < recorded.cuts.size(); ++i) {
        const double slice_due = static_cast<double>(reads[i + 1].enabled - reads[i].enabled) / 1e9 / period;
        const auto seen = recorded.samples_at_cut[i] - (i > 0 ? recorded.samples_at_cut[i - 1] : 0);
        const auto lost = reads[i + 1].lost - reads[i].lost;
        // Counters are read up to 10 ms after the boundary: those ticks belong to the next slice.
        EXPECT_NEAR(slice_due, static_cast<double>(seen + lost), 0.01 * slice_due + stolen + 2 * 0.012 / period) << i;
        longest = std::max(longest, slice_due * period);
    }
    EXPECT_GT(longest, 2.5);
}

TEST(RecordingLoss, AStormOfProgramsTakesNoSamplesAway) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    Client storm("storm", {"exec", "5", "2000"});
    RecordingOptions options = on_cpu_1(999);
    options.cpus = {};
    options.tuning.side_band_ring_bytes = 32U << 10;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    record_for(**session, recorded, 7s, [&](std::chrono::nanoseconds elapsed) {
        // Away for 300 ms out of each 400.
        if (elapsed < 4s) std::this_thread::sleep_for(300ms);
    });
    const double programs = Client::numbers(storm.output()).at(0);
    EXPECT_GT(programs, 500) << "not much of a storm";

    const SessionCounters& counters = (*session)->counters();
    EXPECT_GT(counters.lost_side_band_records, 0U);
    EXPECT_EQ(counters.lost_sample_records, 0U);
    for (const std::uint32_t cpu : {0U, 1U}) EXPECT_EQ(truth_of(recorded, 0, cpu).lost, 0U);
    EXPECT_GE(counters.resyncs, 1U);
    EXPECT_GT((*session)->tuning().side_band_ring_bytes, 32U << 10) << "the ring that lost grows";
    EXPECT_TRUE(std::ranges::any_of(recorded.cuts, [](const Cut& cut) { return cut.lost_side_band > 0; }));
    EXPECT_EQ(recorded.out_of_order, 0U);
    // This very process was there before the storm; reading /proc again told of it again.
    const auto told =
        std::ranges::count_if(recorded.comms, [](const auto& c) { return c.pid == ::getpid() && c.tid == ::getpid(); });
    EXPECT_GE(told, 2);
}

}  // namespace
}  // namespace perfvigil::test
