// SPDX-License-Identifier: GPL-2.0-or-later
// Selections of a recording of which everything is known.
#include "analyzer/stream_analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analyzer/profile/codec.hpp"
#include "tests/support/fake_symbolizer.hpp"
#include "tests/support/plain_text.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::analyzer {
namespace {

using std::chrono::seconds;
using test::SyntheticCode;
using test::SyntheticStream;
using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kClock = 1;  // in the order of the stream's sampling events

test::SyntheticOptions options() { return {.cpus = {{.busy = 0.8}, {.busy = 0.3}, {.busy = 0.5}}, .slices = 4}; }

Profile profile_of(const SampleSelection& selection, test::SyntheticOptions of = options(),
                   std::optional<SampleSpan> span = {}) {
    SyntheticStream stream(std::move(of));
    test::FakeSymbolizer symbolizer;
    StreamAnalysis analysis(stream.events(), symbolizer, KernelText(stream.host().text_ranges), {}, nullptr);
    if (!stream.host().cpu_times.empty()) analysis.set_baseline_times(stream.host().cpu_times.front().cpus);
    analysis.select(selection, span);
    stream.run(analysis);
    return analysis.build(stream.host(), "id");
}

std::vector<std::vector<test::SyntheticTruth>> truth_of(test::SyntheticOptions of = options()) {
    SyntheticStream stream(std::move(of));
    struct Nothing final : collector::RecordSink {
        void on_record(const collector::OrderedRecord&) override {}
        void on_cut(const collector::Cut&) override {}
    } nothing;
    stream.run(nothing);
    return stream.truth();
}

std::uint64_t true_samples(std::uint32_t cpu) {
    std::uint64_t sum = 0;
    for (const auto& slice : truth_of()) sum += slice.at(cpu).samples;
    return sum;
}

// All that is stored of it.
std::string stored_text(const Profile& profile) {
    const auto bytes = encode_profile(profile);
    return test::plain_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::uint64_t samples_in(const Profile& profile, std::uint32_t event) {
    std::uint64_t sum = 0;
    for (const auto& sample : profile.samples) sum += sample.event == event ? sample.samples : 0;
    return sum;
}

TEST(StreamAnalysis, WithoutASelectionNothingIsFiltered) {
    const Profile whole = profile_of({});
    EXPECT_EQ(whole.filter, "");
    EXPECT_EQ(whole.events[kClock].whole_samples, 0U);
    EXPECT_EQ(whole.events[kClock].samples, true_samples(0) + true_samples(1) + true_samples(2));
    EXPECT_TRUE(whole.notes.empty());
}

TEST(StreamAnalysis, SelectedCpusKeepTheirRowsUnchanged) {
    const Profile whole = profile_of({});
    const Profile one = profile_of({.cpus = {CpuId{1}}});
    EXPECT_EQ(one.filter, "--cpu 1");
    EXPECT_EQ(one.events[kClock].samples, true_samples(1));
    EXPECT_EQ(samples_in(one, kClock), true_samples(1));
    EXPECT_EQ(one.events[kClock].whole_samples, whole.events[kClock].samples);
    EXPECT_EQ(one.events[kClock].whole_weight, whole.events[kClock].weight);
    ASSERT_EQ(one.cpus.size(), 1U);
    EXPECT_EQ(one.cpus[0], whole.cpus[1]);
    EXPECT_EQ(one.duration, whole.duration);
    EXPECT_THAT(one.notes, Contains(HasSubstr("selected CPUs")));
}

// T is estimated from the first to the last sample of any CPU, so it needs those that were left out.
TEST(StreamAnalysis, AnEstimatedCpuIsTheSameAloneAsAmongAll) {
    auto foreign = options();
    foreign.readings = false;
    for (auto& cpu : foreign.cpus) cpu.samples_idle = false;
    const Profile whole = profile_of({}, foreign);
    const Profile one = profile_of({.cpus = {CpuId{1}}}, foreign);
    ASSERT_EQ(one.cpus.size(), 1U);
    EXPECT_TRUE(one.cpus[0].sum.time_estimated);
    EXPECT_EQ(one.cpus[0].sum.enabled, whole.cpus[1].sum.enabled);
    EXPECT_EQ(one.cpus[0].busy, whole.cpus[1].busy);
}

TEST(StreamAnalysis, AProcessHasNoCpuRows) {
    const Pid pid = SyntheticStream::pid_of(0, 1);
    const Profile apart = profile_of({.by_pid = true});
    std::uint64_t expected = 0;
    for (const auto& sample : apart.samples) {
        ASSERT_TRUE(apart.contexts[sample.context].pid);
        if (sample.event == kClock && apart.contexts[sample.context].pid == pid) expected += sample.samples;
    }
    ASSERT_GT(expected, 20U);
    const Profile one = profile_of({.pids = {pid}});
    EXPECT_EQ(one.events[kClock].samples, expected);
    EXPECT_EQ(one.events[kClock].whole_samples, apart.events[kClock].samples);
    EXPECT_TRUE(one.cpus.empty());
    for (const auto& moment : one.moments) EXPECT_TRUE(moment.cpus.empty());
    EXPECT_THAT(one.notes, Contains(HasSubstr("left out")));
    for (const auto& context : one.contexts) EXPECT_EQ(context.pid, std::nullopt);
    EXPECT_EQ(profile_of({.tids = {Tid{pid.value}}}).events[kClock].samples, expected);
}

TEST(StreamAnalysis, TellsCpusAndThreadsApart) {
    const Profile profile = profile_of({.by_tid = true, .by_cpu = true});
    EXPECT_EQ(profile.filter, "");
    EXPECT_EQ(profile.cpus.size(), 3U);
    std::map<std::uint32_t, std::uint64_t> by_cpu;
    for (const auto& sample : profile.samples) {
        const auto& context = profile.contexts[sample.context];
        ASSERT_TRUE(context.cpu && context.tid);
        EXPECT_EQ(context.pid, std::nullopt);
        // Processes of the synthetic recording stay on one CPU.
        if (context.tid->value != 0) {
            EXPECT_EQ(context.tid->value / 100 - 10, static_cast<int>(context.cpu->value));
        }
        if (sample.event == kClock) by_cpu[context.cpu->value] += sample.samples;
    }
    for (std::uint32_t cpu = 0; cpu < 3; ++cpu) EXPECT_EQ(by_cpu[cpu], true_samples(cpu)) << cpu;
}

TEST(StreamAnalysis, StretchesOfTimeAddUpToTheWhole) {
    const Profile whole = profile_of({});
    std::uint64_t samples = 0, weight = 0;
    for (const TimeRange range :
         {TimeRange{TimeRange::Unit::kSeconds, 0, 3}, TimeRange{TimeRange::Unit::kSeconds, 3, 11},
          TimeRange{TimeRange::Unit::kSeconds, 11, std::nullopt}}) {
        const Profile part = profile_of({.time = range});
        EXPECT_EQ(samples_in(part, kClock), part.events[kClock].samples);
        EXPECT_EQ(part.events[kClock].whole_samples, whole.events[kClock].samples);
        samples += part.events[kClock].samples;
        weight += part.events[kClock].weight;
        EXPECT_TRUE(part.cpus.empty());
        std::uint64_t in_moments = 0;
        Nanoseconds length{};
        for (const auto& moment : part.moments) {
            in_moments += moment.totals[kClock].samples;
            length += moment.length;
        }
        EXPECT_EQ(in_moments, part.events[kClock].samples);
        EXPECT_EQ(length, part.duration);
    }
    EXPECT_EQ(samples, whole.events[kClock].samples);
    EXPECT_EQ(weight, whole.events[kClock].weight);
}

TEST(StreamAnalysis, AStretchIsAsLongAsItWasAskedFor) {
    const Profile part = profile_of({.time = TimeRange{TimeRange::Unit::kSeconds, 3, 11}});
    EXPECT_EQ(part.duration, seconds(8));
    EXPECT_EQ(part.end - part.start, seconds(8));
    EXPECT_EQ(part.moments.size(), 3U);  // slices of 5 s: parts of three of them
    const Profile whole = profile_of({});
    EXPECT_GT(part.start, whole.start + seconds(3) - Nanoseconds(1));
    EXPECT_LT(part.start, whole.start + seconds(3) + std::chrono::milliseconds(11));  // the first sample's tick
}

TEST(StreamAnalysis, AStretchWithoutSamplesIsSaid) {
    const Profile none = profile_of({.time = TimeRange{TimeRange::Unit::kSeconds, 1000, 2000}});
    EXPECT_EQ(none.events[kClock].samples, 0U);
    EXPECT_GT(none.events[kClock].whole_samples, 0U);
    EXPECT_EQ(none.duration, Nanoseconds{});
    EXPECT_THAT(none.warnings, Contains(HasSubstr("No sample lies in the time range 1000s..2000s")));
}

// Losses have neither a process nor a time: their share is of all samples, not of the few that were selected.
TEST(StreamAnalysis, LossIsNoLargerForASelection) {
    auto lossy = options();
    for (auto& cpu : lossy.cpus) cpu.lost = 0.004;
    const Profile whole = profile_of({}, lossy);
    ASSERT_GT(whole.events[kClock].lost, 0U);
    EXPECT_TRUE(whole.warnings.empty()) << whole.warnings.front();
    const Profile one = profile_of({.pids = {SyntheticStream::pid_of(1, 1)}}, lossy);
    EXPECT_EQ(one.events[kClock].lost, whole.events[kClock].lost);
    EXPECT_TRUE(one.warnings.empty()) << one.warnings.front();
}

// The same recording with and without its program excluded: what nobody is to know is nowhere, and nothing else moved.
TEST(StreamAnalysis, WhatIsExcludedCountsWithoutItsNames) {
    test::SyntheticOptions of = options();
    of.program = "/srv/alice/private-worker";
    of.comm = "secretive";
    SyntheticStream stream(of);
    test::FakeSymbolizer symbolizer;
    symbolizer.files[of.program].functions = {
        {SyntheticCode::program_offset(0), {of.functions * SyntheticCode::kFunctionSize, "hidden_function"}}};
    StreamAnalysis analysis(stream.events(), symbolizer, KernelText(stream.host().text_ranges), {}, nullptr);
    analysis.set_baseline_times(stream.host().cpu_times.front().cpus);
    Exclusion exclusion({.comms = {"secret*"}});
    analysis.exclude(&exclusion);
    stream.run(analysis);
    const Profile profile = analysis.build(stream.host(), "id");

    const Profile open = profile_of({}, of);
    ASSERT_THAT(stored_text(open), HasSubstr("secretive"));
    ASSERT_THAT(stored_text(open), HasSubstr("private-worker"));
    for (const auto* name : {"secretive", "worker", "alice", "hidden_function"}) {
        EXPECT_THAT(stored_text(profile), Not(HasSubstr(name)));
    }
    for (std::uint32_t event : {0U, kClock}) EXPECT_EQ(samples_in(profile, event), samples_in(open, event));
    ASSERT_EQ(profile.cpus.size(), open.cpus.size());
    for (std::size_t i = 0; i < open.cpus.size(); ++i) {
        EXPECT_EQ(profile.cpus[i].sum, open.cpus[i].sum);
        EXPECT_EQ(profile.cpus[i].busy.ratio, open.cpus[i].busy.ratio);
    }
    std::uint64_t excluded = 0;
    std::uint64_t of_program = 0;
    for (const auto& sample : profile.samples) {
        const auto& functions = profile.stacks[sample.stack].functions;
        const auto& context = profile.contexts[sample.context];
        if (context.comm != kExcluded) continue;
        EXPECT_EQ(context.unit, kExcluded);
        ASSERT_EQ(functions.size(), 1U);
        EXPECT_EQ(profile.functions[functions.front()].name, kExcluded);
        EXPECT_EQ(profile.functions[functions.front()].dso, kExcluded);
        EXPECT_FALSE(sample.idle);
        excluded += sample.samples;
    }
    for (const auto& sample : open.samples) {
        of_program += open.contexts[sample.context].comm == of.comm ? sample.samples : 0;
    }
    EXPECT_GT(excluded, 0U);
    EXPECT_EQ(excluded, of_program);
}

TEST(StreamAnalysis, RedactedPathsAreNowhere) {
    test::SyntheticOptions of = options();
    of.program = "/srv/alice/worker";
    SyntheticStream stream(of);
    test::FakeSymbolizer symbolizer;
    symbolizer.files[of.program].functions = {
        {SyntheticCode::program_offset(0),
         {of.functions * SyntheticCode::kFunctionSize, "JS:*hot /srv/alice/app.js:1"}}};
    StreamAnalysis analysis(stream.events(), symbolizer, KernelText(stream.host().text_ranges), {}, nullptr);
    analysis.redact_paths();
    stream.run(analysis);
    const Profile profile = analysis.build(stream.host(), "id");
    ASSERT_THAT(stored_text(profile_of({}, of)), HasSubstr("/srv/alice/worker"));
    EXPECT_THAT(stored_text(profile), Not(HasSubstr("alice")));
    EXPECT_THAT(profile.functions, Contains(AllOf(Field(&ProfileFunction::name, "JS:*hot app.js:1"),
                                                  Field(&ProfileFunction::dso, "worker"))));
    EXPECT_EQ(samples_in(profile, kClock), samples_in(profile_of({}, of), kClock));
}

}  // namespace
}  // namespace perfvigil::analyzer
