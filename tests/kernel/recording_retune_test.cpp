// SPDX-License-Identifier: GPL-2.0-or-later
// Rates change while a CPU is busy, without a gap and without counting anything twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;
using namespace std::chrono_literals;

TEST(RecordingRetune, FromNinetyNineToNineHundredAndBack) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const Client load("spin", {"60", "1"});
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.cpus = {CpuId{1}};
    options.slice = 1s;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    int step = 0;
    record_for(**session, recorded, 7s, [&](std::chrono::nanoseconds elapsed) {
        Tuning tuning = (*session)->tuning();
        if (step == 0 && elapsed > 1500ms) {
            tuning.frequency = 999;
            (*session)->retune(tuning);
            step = 1;
        } else if (step == 1 && elapsed > 4s) {
            tuning.frequency = 99;
            (*session)->retune(tuning);
            step = 2;
        }
    });

    EXPECT_EQ((*session)->tuning().frequency, 99U);
    EXPECT_TRUE(
        std::ranges::none_of((*session)->degraded(), [](const Degraded& d) { return d.reason == "retune_failed"; }));
    std::map<std::uint32_t, std::pair<MonotonicTime, MonotonicTime>> spans;  // of each generation's samples
    std::map<std::uint32_t, double> counts;
    for (const SeenSample& sample : recorded.samples) {
        auto& [first, last] = spans.try_emplace(sample.generation, sample.time, sample.time).first->second;
        last = sample.time;
        ++counts[sample.generation];
    }
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_GT((*session)->counters().duplicate_samples, 0U) << "the generations overlapped";
    EXPECT_EQ((*session)->counters().unknown_ids, 0U);
    EXPECT_EQ((*session)->counters().late_records, 0U);

    const double stolen = stolen_s(recorded, 1);
    for (std::uint32_t generation = 0; generation < 3; ++generation) {
        const double period = generation == 1 ? 1001001e-9 : 10101010e-9;
        const Truth truth = truth_of(recorded, 0, 1, generation);
        const double due = truth.enabled_s / period;
        const double seen = counts[generation] + static_cast<double>(truth.lost);
        // A cut's counters are read up to 10 ms after it (and both generations' at the same moment).
        EXPECT_NEAR(seen, due, 0.01 * due + 2 + (stolen + 0.012) / period) << generation;
        if (generation == 0) continue;
        // Each takes over where the other ends, at a cut.
        const MonotonicTime until = spans[generation - 1].second;
        const MonotonicTime from = spans[generation].first;
        EXPECT_TRUE(std::ranges::any_of(recorded.cuts, [&](const Cut& c) { return c.time > until && c.time <= from; }));
        EXPECT_LT(to_seconds(from - until), 2 * 10101010e-9 + stolen);
    }
    // A hypervisor that takes the CPU for a few milliseconds leaves gaps too; together they must stay small.
    double missing = 0;
    for (std::size_t i = 1; i < recorded.samples.size(); ++i) {
        const bool fast = recorded.samples[i].generation == 1 && recorded.samples[i - 1].generation == 1;
        const double period = fast ? 1001001e-9 : 10101010e-9;
        const double apart = to_seconds(recorded.samples[i].time - recorded.samples[i - 1].time);
        ASSERT_GE(apart, 0) << i;
        if (apart > 2 * period) missing += apart - period;
    }
    EXPECT_LE(missing, stolen + 0.07) << "more than 1 % of the time was not sampled";
}

// Every sample weighs the nominal period of its generation: across two changes of rate the weights must add up to the
// CPU time that the load itself measured.
TEST(RecordingRetune, WeightsStayRightAcrossChangesAgainstTheLoadsOwnClock) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.cpus = {CpuId{1}};
    options.slice = 1s;
    options.tuning.frequency = 499;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    std::unique_ptr<Client> load;
    std::size_t step = 0;
    record_for(**session, recorded, 8s, [&](std::chrono::nanoseconds elapsed) {
        // The recording begins before the load and ends after it.
        if (!load && elapsed > 300ms) {
            load = std::make_unique<Client>("busy_load", std::vector<std::string>{"1", "60", "6.5"});
        }
        constexpr std::array kSteps{std::pair(1500ms, 3999U), std::pair(4000ms, 499U)};
        if (step == kSteps.size() || elapsed < kSteps[step].first) return;
        Tuning tuning = (*session)->tuning();
        tuning.frequency = kSteps[step++].second;
        (*session)->retune(tuning);
    });
    ASSERT_TRUE(load);
    const double truth = Client::numbers(load->output()).at(0) / 1e9;
    std::map<std::uint32_t, std::uint64_t> counts;
    for (const SeenSample& sample : recorded.samples) {
        if (sample.pid == load->pid()) ++counts[sample.generation];
    }
    ASSERT_EQ(counts.size(), 3U);
    double weight = 0;
    double variance = 0;
    for (const auto& [generation, count] : counts) {
        const double period = generation == 1 ? 250062e-9 : 2004008e-9;
        weight += static_cast<double>(count) * period;
        variance += static_cast<double>(count) * period * period;
    }
    EXPECT_NEAR(weight, truth, 3.29 * std::sqrt(variance) + 0.01 * truth + stolen_s(recorded, 1));
}

TEST(RecordingRetune, StaysWhenBothRingsDoNotFit) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.slice = 500ms;
    options.rings_total_bytes = 3U << 20;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    record_for(**session, recorded, 1200ms, [&](std::chrono::nanoseconds) {
        Tuning tuning = (*session)->tuning();
        tuning.frequency = 199;
        (*session)->retune(tuning);
    });
    EXPECT_EQ((*session)->tuning().frequency, 99U);
    const auto& degraded = (*session)->degraded();
    const auto said = std::ranges::find(degraded, "retune_failed", &Degraded::reason);
    ASSERT_NE(said, degraded.end());
    EXPECT_TRUE(said->detail.contains("rings.total is 3072 KiB")) << said->detail;
    EXPECT_EQ((*session)->counters().duplicate_samples, 0U);
    EXPECT_LE((*session)->counters().ring_bytes, options.rings_total_bytes);
}

}  // namespace
}  // namespace perfvigil::test
