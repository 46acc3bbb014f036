// SPDX-License-Identifier: GPL-2.0-or-later
// A recording session against the real kernel: rates, enabled time, order, ids, cuts. The machine may be busy with
// other things: CPUs under test are kept 100 % busy, and what the hypervisor took is allowed for.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;
using namespace std::chrono_literals;

RecordingOptions clock_only(std::uint32_t hertz) {
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.tuning.frequency = hertz;
    options.slice = 1s;
    return options;
}

#define REQUIRE_RECORDABLE() \
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why

class Rates : public testing::TestWithParam<std::uint32_t> {};

// On a busy CPU every tick that is due in the enabled time is a sample, a lost sample, or stolen.
TEST_P(Rates, EveryDueTickIsAccountedFor) {
    REQUIRE_RECORDABLE();
    const Client load("spin", {"60", "1"});
    RecordingOptions options = clock_only(GetParam());
    options.cpus = {CpuId{1}};
    options.tuning.sample_ring_bytes = 4U << 20;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_EQ((*session)->tuning().frequency, GetParam());
    Recorded recorded;
    record_for(**session, recorded, 4s);

    const double period = static_cast<double>(1'000'000'000 / GetParam()) / 1e9;
    const Truth truth = truth_of(recorded, 0, 1);
    const double due = truth.enabled_s / period;
    const auto seen = static_cast<double>(recorded.samples.size() + truth.lost);
    EXPECT_NEAR(truth.enabled_s, 4.0, 0.2);
    EXPECT_LE(seen, due + 2);
    EXPECT_GE(seen, due - 0.01 * due - 2 - stolen_s(recorded, 1) / period)
        << "stolen " << stolen_s(recorded, 1) << " s";
    EXPECT_EQ(recorded.out_of_order, 0U);
    EXPECT_EQ(recorded.without_event, 0U);
    EXPECT_EQ((*session)->counters().late_records, 0U);
    EXPECT_EQ((*session)->counters().samples, recorded.samples.size());
}

INSTANTIATE_TEST_SUITE_P(Hertz, Rates, testing::Values(99, 999, 5000),
                         [](const auto& hertz) { return std::to_string(hertz.param); });

TEST(RecordingSession, SlicesEndAtWholeSecondsAndHoldTheirOwnCounters) {
    REQUIRE_RECORDABLE();
    const Client load0("spin", {"60", "0"});
    const Client load1("spin", {"60", "1"});
    auto session = RecordingSession::open(clock_only(999), system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    record_for(**session, recorded, 4500ms);

    ASSERT_GE(recorded.cuts.size(), 4U);
    EXPECT_TRUE(recorded.cuts.back().last);
    for (std::size_t i = 0; i + 1 < recorded.cuts.size(); ++i) {
        const Cut& cut = recorded.cuts[i];
        EXPECT_FALSE(cut.last);
        EXPECT_FALSE(cut.clock_stepped);
        EXPECT_FALSE(cut.cpu_times.empty());
        // On the second, or, on a machine too busy to let us come in time, as late as it was.
        const auto past = cut.wall.time_since_epoch() % 1s;
        EXPECT_TRUE(past == 0ns || past > 10ms) << past.count();
        // Nothing of before the cut comes after it.
        for (std::size_t s = recorded.samples_at_cut[i]; s < recorded.samples.size(); ++s) {
            ASSERT_GE(recorded.samples[s].time, cut.time);
        }
        for (std::size_t s = 0; s < recorded.samples_at_cut[i]; ++s) ASSERT_LT(recorded.samples[s].time, cut.time);
    }
    // One baseline and one reading per cut and instance, enabled time growing.
    ASSERT_EQ(recorded.reads.size(), 2 * (*session)->cpus().size());
    for (const auto& [id, reads] : recorded.reads) {
        ASSERT_EQ(reads.size(), recorded.cuts.size() + 1);
        for (std::size_t i = 1; i < reads.size(); ++i) {
            EXPECT_GT(reads[i].enabled, reads[i - 1].enabled);
            EXPECT_GE(reads[i].time, recorded.cuts[i - 1].time);
            EXPECT_LT(reads[i].time - recorded.cuts[i - 1].time, 100ms);
            const auto wall = static_cast<double>((reads[i].time - reads[i - 1].time).count());
            EXPECT_NEAR(static_cast<double>(reads[i].enabled - reads[i - 1].enabled), wall, 0.01 * 1e9);
        }
    }
}

TEST(RecordingSession, WithoutAPmuCyclesBecomesNoSecondClock) {
    REQUIRE_RECORDABLE();
    auto session = RecordingSession::open(RecordingOptions{}, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    const auto& degraded = (*session)->degraded();
    const bool no_pmu = std::ranges::any_of(degraded, [](const Degraded& d) { return d.reason == "no_pmu"; });
    std::vector<std::string> names;
    std::size_t clocks = 0;
    for (const EventInfo& event : (*session)->events().events()) {
        names.push_back(event.name);
        clocks += event.attr.is_cpu_clock() ? 1U : 0U;
    }
    EXPECT_EQ(clocks, 1U);
    const std::vector<std::string> expected = no_pmu ? std::vector<std::string>{"cpu-clock", "dummy:HG"}
                                                     : std::vector<std::string>{"cycles", "cpu-clock", "dummy:HG"};
    EXPECT_EQ(names, expected);
}

TEST(RecordingSession, WhatRunsAlreadyComesBeforeTheFirstSample) {
    REQUIRE_RECORDABLE();
    const Client load("spin", {"60", "1"});
    auto session = RecordingSession::open(clock_only(99), system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Recorded recorded;
    record_for(**session, recorded, 1s);

    const auto comm = std::ranges::find(recorded.comms, load.pid(), &Recorded::Comm::pid);
    ASSERT_NE(comm, recorded.comms.end());
    EXPECT_EQ(comm->comm, "spin");
    ASSERT_FALSE(recorded.samples.empty());
    EXPECT_LT(comm->time, recorded.samples.front().time);
    EXPECT_TRUE(std::ranges::any_of(recorded.mapped[load.pid()],
                                    [](const std::string& path) { return path == client_path("spin"); }));
    EXPECT_TRUE(
        std::ranges::any_of(recorded.mapped[load.pid()], [](const std::string& path) { return path == "[vdso]"; }));
    EXPECT_EQ(recorded.by_type[kRecordFinishedInit], 1U);
    if (std::ranges::none_of((*session)->degraded(), [](const Degraded& d) { return d.reason == "no_cgroups"; })) {
        for (const SeenSample& sample : recorded.samples) {
            if (sample.pid != load.pid()) continue;
            EXPECT_TRUE(recorded.cgroups.contains(sample.cgroup)) << sample.cgroup;
        }
    }
    // Kernel threads have names too.
    EXPECT_TRUE(std::ranges::any_of(recorded.comms, [](const auto& c) { return c.comm.starts_with("ksoftirqd"); }));
    EXPECT_TRUE(std::ranges::any_of(recorded.samples, [&](const SeenSample& s) { return s.pid == load.pid(); }));
}

}  // namespace
}  // namespace perfvigil::test
