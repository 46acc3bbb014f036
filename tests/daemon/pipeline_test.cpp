// SPDX-License-Identifier: GPL-2.0-or-later
// Sampler and analyst on a recording of which everything is known, one after the other on one thread: their queue
// holds the whole recording, so nothing here depends on time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "analyzer/profile/codec.hpp"
#include "daemon/analyst.hpp"
#include "daemon/sampler.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_immediate_source.hpp"
#include "tests/support/fake_symbolizer.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::stop_token stopped() {
    std::stop_source source;
    source.request_stop();
    return source.get_token();
}

class PipelineTest : public testing::Test {
protected:
    PipelineTest() {
        options.store.directory = folder / "store";
        options.analysis.window = seconds(20);
        options.analysis.spread = Nanoseconds{};
    }

    void record(std::size_t slices) {
        test::SyntheticOptions synthetic;
        synthetic.slices = slices;
        source.emplace(synthetic);
        Sampler sampler({.source = *source,
                         .host = source->stream.host(),
                         .limits = {},
                         .queues = queues,
                         .board = board,
                         .clock = clock});
        const auto outcome = sampler.run({});
        ASSERT_TRUE(outcome) << outcome.error().message;
    }

    std::unique_ptr<Analyst> make_analyst() {
        return std::make_unique<Analyst>(Analyst::Parts{
            .options = options,
            .symbolizer = symbolizer,
            .host = source ? source->stream.host() : host,
            .surroundings = {.note_kernel_change = [this] { ++kernel_changes; },
                             .no_names = [this] { return no_names; },
                             .symbol_child = [] { return pid_t{0}; },
                             .dropped_files = [] { return std::uint64_t{4}; },
                             .captures = [] { return Surroundings::Captures{7, 2, 1, "/c/x.perf.data"}; }},
            .queues = queues,
            .board = board,
            .clock = clock,
            .sample_cost = {.value = std::chrono::microseconds(10)},
            .replay = replay});
    }
    // Everything in the queue, as at a shutdown.
    std::shared_ptr<const Catalog> analyze() {
        analyst = make_analyst();
        analyst->run(stopped());
        return analyst->catalog();
    }
    analyzer::Profile profile_of(const Window& window) const {
        const auto bytes = read_window(options.store.directory, window);
        EXPECT_TRUE(bytes);
        auto profile = analyzer::decode_profile(*bytes);
        EXPECT_TRUE(profile);
        return std::move(*profile);
    }
    std::string metrics() { return *board.metrics.take(clock.monotonic() + seconds(1000)); }

    // A slice without samples, of 5 s.
    SliceParcel parcel(std::int64_t wall_end, std::uint64_t dropped = 0) {
        SliceParcel made;
        made.slice = std::make_unique<analyzer::Slice>();
        made.slice->start = MonotonicTime(seconds(wall_end - 5));
        made.slice->end = MonotonicTime(seconds(wall_end));
        made.slice->wall_end = WallTime(seconds(wall_end));
        made.slice->totals.resize(1);
        made.events = events;
        made.dropped_slices = dropped;
        made.counters.emplace();
        made.tuning.emplace();
        return made;
    }
    void push(SliceParcel made) { ASSERT_TRUE(queues.ready.try_push(std::move(made))); }

    test::TempFolder folder;
    test::ManualClock clock;
    config::Options options;
    SliceQueues queues;
    Board board{seconds(5)};
    test::FakeSymbolizer symbolizer;
    std::optional<test::ImmediateSource> source;
    collector::HostFacts host;
    std::shared_ptr<const std::vector<collector::EventInfo>> events = [] {
        collector::EventInfo clock_event;
        clock_event.name = "cpu-clock";
        clock_event.attr.type = collector::kTypeSoftware;
        clock_event.attr.sample_period_or_freq = 99;
        clock_event.attr.set(collector::kFlagFreq);
        return std::make_shared<const std::vector<collector::EventInfo>>(std::vector{clock_event});
    }();
    std::vector<collector::Degraded> no_names;
    int kernel_changes = 0;
    bool replay = true;
    std::unique_ptr<Analyst> analyst;
};

TEST_F(PipelineTest, EverySampleIsInExactlyOneWindow) {
    record(11);
    const auto catalog = analyze();
    ASSERT_GE(catalog->size(), 3U);
    std::uint64_t truth = 0;
    for (const auto& slice : source->stream.truth()) {
        for (const auto& cpu : slice) truth += cpu.samples;
    }
    std::uint64_t sum = 0;
    WallTime previous{};
    for (const auto& window : *catalog) {
        const auto profile = profile_of(*window);
        EXPECT_EQ(profile.id, window->info.id);
        EXPECT_GE(profile.start, previous);
        previous = profile.end;
        for (const auto& event : profile.events) sum += event.name == "cpu-clock" ? event.samples : 0;
        if (window != catalog->front() && window != catalog->back()) {
            EXPECT_EQ(profile.duration, seconds(20));
            EXPECT_FALSE(profile.partial);
            EXPECT_EQ(profile.end.time_since_epoch() % seconds(20), Nanoseconds{})
                << "windows are aligned to wall time";
        }
    }
    EXPECT_EQ(sum, truth);
    EXPECT_EQ(board.slices.load(), 11U);
    ASSERT_EQ(board.live.after(0).size(), 11U);
    EXPECT_THAT(*board.live.newest().front(), AllOf(HasSubstr("{\"number\":11,"), HasSubstr("\"busy_low\":")));
    EXPECT_EQ(board.recording.value()->counters.front(),
              std::pair(std::string_view("samples"), board.recording.value()->counters.front().second));
}

TEST_F(PipelineTest, MetricsAndStatusFollowTheSlices) {
    record(8);
    analyze();
    const auto text = metrics();
    EXPECT_THAT(text, HasSubstr("perfvigil_function_cpu_seconds_total{"));
    EXPECT_THAT(text, HasSubstr("perfvigil_samples_total{event=\"cpu-clock\"}"));
    EXPECT_THAT(text, HasSubstr("perfvigil_store_bytes{"));
    const auto status = *board.recording.value();
    EXPECT_EQ(status.slices, 8U);
    EXPECT_EQ(status.capture_file, "/c/x.perf.data");
    EXPECT_EQ(status.capture_bytes, 7U);
    ASSERT_FALSE(status.events.empty());
    EXPECT_THAT(status.cpus, ElementsAre(CpuId{0}, CpuId{1}));
    ASSERT_TRUE(status.last_slice_end);
}

TEST_F(PipelineTest, MetricsAreThereBeforeTheFirstSlice) {
    board.degraded.set("listen", {{"listen", "port taken", "free it"}});
    analyze();
    EXPECT_THAT(metrics(), HasSubstr("perfvigil_degraded{reason=\"listen\"} 1"));
}

TEST_F(PipelineTest, SlicesComeBackToTheSampler) {
    record(6);
    analyze();
    std::size_t recycled = 0;
    while (queues.recycled.try_pop()) ++recycled;
    EXPECT_EQ(recycled, 6U);
}

TEST_F(PipelineTest, AReplayWaitsForTheAnalyst) {
    constexpr std::size_t kSlices = kWaitingSlices * 3;
    const std::jthread slow_analyst([this] {
        analyst = make_analyst();
        std::stop_source stop;
        // Ends itself when it has seen everything.
        const std::jthread watch([&] {
            while (board.slices.load() < kSlices) std::this_thread::yield();
            stop.request_stop();
        });
        analyst->run(stop.get_token());
    });
    record(kSlices);
    while (board.slices.load() < kSlices) std::this_thread::yield();
    EXPECT_EQ(board.slices.load(), kSlices) << "each slice once, none dropped";
}

TEST_F(PipelineTest, WindowsAreNamedByTheirEnd) {
    replay = false;
    for (int s = 1000000005; s <= 1000000040; s += 5) push(parcel(s));
    const auto catalog = analyze();
    ASSERT_EQ(catalog->size(), 2U);
    EXPECT_EQ(catalog->front()->info.id, "20010909T014700Z");
    EXPECT_EQ(catalog->back()->info.id, "20010909T014720Z");
    EXPECT_FALSE(catalog->front()->info.partial);
}

TEST_F(PipelineTest, AStepOfTheClockEndsTheWindow) {
    replay = false;
    push(parcel(1000000005));
    auto stepped = parcel(1000000010);
    stepped.slice->clock_stepped = true;
    push(std::move(stepped));
    push(parcel(2000000015));
    const auto catalog = analyze();
    ASSERT_EQ(catalog->size(), 2U);
    EXPECT_TRUE(catalog->front()->info.partial);
    EXPECT_EQ(catalog->front()->info.duration, seconds(10));
}

TEST_F(PipelineTest, WhatHappenedIsToldInTheWindow) {
    replay = false;
    no_names = {{"no_kernel_symbols", "hidden", "sysctl"}};
    auto first = parcel(1000000005);
    first.degraded = {{"no_pmu", "no cycles", ""}};
    push(std::move(first));
    auto second = parcel(1000000010, 3);
    second.degraded = {{"no_pmu", "no cycles", ""}};
    second.tuning->frequency = 49;
    second.tuning->max_stack = 64;
    second.tuning->sample_ring_bytes *= 2;
    second.kernel_changed = true;
    push(std::move(second));
    const auto catalog = analyze();
    ASSERT_EQ(catalog->size(), 1U);
    const auto profile = profile_of(*catalog->front());
    EXPECT_THAT(profile.warnings, Contains(HasSubstr("3 slices before this one are missing")));
    EXPECT_THAT(profile.notes, ElementsAre("The sampling frequency changed from 99 to 49 Hz.",
                                           "The depth of call chains changed from 127 to 64 frames.",
                                           "The size of the rings changed."));
    std::vector<std::string> reasons;
    for (const auto& one : profile.degraded) reasons.push_back(one.reason);
    EXPECT_THAT(reasons, ElementsAre("no_pmu", "no_kernel_symbols"));
    EXPECT_EQ(kernel_changes, 1);
    EXPECT_EQ(board.degraded.all().size(), 2U);
    EXPECT_THAT(metrics(), HasSubstr("reason=\"no_pmu\"} 1"));
}

TEST_F(PipelineTest, ADiskThatRefusesCostsNoWindow) {
    test::spill(options.store.directory, "a file");
    replay = false;
    for (int s = 1000000005; s <= 1000000020; s += 5) push(parcel(s));
    const auto catalog = analyze();
    ASSERT_EQ(catalog->size(), 1U);
    EXPECT_NE(catalog->front()->in_memory, nullptr);
    ASSERT_EQ(board.degraded.all().size(), 1U);
    EXPECT_EQ(board.degraded.all()[0].reason, "store");
}

TEST_F(PipelineTest, ABrokenSourceStillTellsWhatItHad) {
    struct Breaking final : collector::RecordSource {
        test::ImmediateSource inner{test::SyntheticOptions{}};
        int pumps = 0;
        const collector::EventTable& events() const override { return inner.events(); }
        std::optional<MonotonicTime> next_pump() const override { return MonotonicTime{}; }
        Result<void> pump(collector::RecordSink& sink) override {
            if (++pumps == 3) return fail(ErrorCode::kIo, "ring went away");
            return inner.pump(sink);
        }
        Result<void> finish(collector::RecordSink&) override { return {}; }
    } breaking;
    Sampler sampler({.source = breaking,
                     .host = breaking.inner.stream.host(),
                     .limits = {},
                     .queues = queues,
                     .board = board,
                     .clock = clock});
    const auto outcome = sampler.run({});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().message, "ring went away");
    const auto catalog = analyze();
    std::uint64_t samples = 0;
    for (const auto& window : *catalog) samples += window->info.samples;
    EXPECT_GT(samples, 0U) << "the open window was closed without a last cut";
}

}  // namespace
}  // namespace perfvigil::daemon
