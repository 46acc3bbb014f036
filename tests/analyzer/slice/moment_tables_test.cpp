// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/moment_tables.hpp"

#include <gtest/gtest.h>

#include <map>

#include "analyzer/slice/kernel_text.hpp"
#include "analyzer/stream_analysis.hpp"
#include "tests/support/fake_symbolizer.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::analyzer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(MomentTables, RowsOfOneFunctionBecomeOne) {
    TopFunctions rows{{0, 7, 1, 10}, {1, 7, 2, 20}, {0, 7, 3, 30}, {0, 5, 4, 40}};
    merge_rows(rows);
    EXPECT_EQ(rows, (TopFunctions{{0, 5, 4, 40}, {0, 7, 4, 40}, {1, 7, 2, 20}}));
}

TEST(MomentTables, TheTopIsTheHeaviestOfEachEvent) {
    TopFunctions rows;
    for (std::uint32_t i = 0; i < kTopFunctions + 10; ++i) rows.push_back({0, i, 1, 100 + i});
    rows.push_back({1, 3, 1, 1});
    keep_top(rows);
    ASSERT_EQ(rows.size(), kTopFunctions + 1);
    EXPECT_EQ(rows.front().weight, 100 + kTopFunctions + 9);
    EXPECT_EQ(rows[kTopFunctions - 1].weight, 110U);
    EXPECT_EQ(rows.back().event, 1U);
}

TEST(FineMoments, TheGrainFollowsTheLength) {
    for (const std::size_t parts : {1U, 7U, 40U, 41U, 80U, 81U, 1000U, 12'345U}) {
        FineMoments fine(milliseconds(100));
        for (std::size_t i = 0; i < parts; ++i) {
            fine.add(milliseconds(100), {{0, static_cast<std::uint32_t>(i % 3), 1, i}}, {{.samples = 2, .weight = i}});
        }
        const auto moments = fine.take(WallTime(seconds(5000)), 1);
        EXPECT_LE(moments.size(), FineMoments::kMost) << parts;
        EXPECT_GE(moments.size(), std::min(parts, FineMoments::kMost / 2)) << parts;
        Nanoseconds length{};
        std::uint64_t samples = 0, weight = 0, rows = 0;
        for (const auto& moment : moments) {
            length += moment.length;
            samples += moment.totals.at(0).samples;
            weight += moment.totals.at(0).weight;
            for (const auto& row : moment.top) rows += row.weight;
            EXPECT_LE(moment.top.size(), 3U);
            EXPECT_TRUE(moment.cpus.empty());
        }
        EXPECT_EQ(length, milliseconds(100) * parts);
        EXPECT_EQ(samples, 2 * parts);
        EXPECT_EQ(weight, parts * (parts - 1) / 2);
        EXPECT_EQ(rows, weight);
        EXPECT_EQ(moments.back().wall_end, WallTime(seconds(5000)));
        EXPECT_EQ(moments.front().wall_end, WallTime(seconds(5000)) - length + moments.front().length);
    }
}

TEST(FineMoments, AStubAtTheEndJoinsItsNeighbour) {
    FineMoments fine(milliseconds(100));
    fine.add(milliseconds(100), {{0, 1, 1, 5}}, {{.samples = 1, .weight = 5}});
    fine.add(milliseconds(30), {{0, 1, 1, 6}}, {{.samples = 1, .weight = 6}});
    const auto moments = fine.take({}, 2);
    ASSERT_EQ(moments.size(), 1U);
    EXPECT_EQ(moments[0].length, milliseconds(130));
    EXPECT_EQ(moments[0].top, (TopFunctions{{0, 1, 2, 11}}));
    EXPECT_EQ(moments[0].totals.size(), 2U);
    EXPECT_EQ(moments[0].wall_end, WallTime{});
}

Profile analyzed(const test::SyntheticOptions& options, Nanoseconds part) {
    test::SyntheticStream stream(options);
    test::FakeSymbolizer symbolizer;
    StreamAnalysis analysis(stream.events(), symbolizer, KernelText(test::SyntheticCode::text_ranges()), {}, nullptr);
    if (!stream.host().cpu_times.empty()) analysis.set_baseline_times(stream.host().cpu_times.front().cpus);
    if (part.count() > 0) analysis.set_fine_moments(part);
    stream.run(analysis);
    return analysis.build(stream.host(), "id");
}

// Self weight of each function, idle excluded, by event and name: numbers may differ.
using Weights = std::map<std::pair<std::uint32_t, std::string>, std::uint64_t>;
Weights self_weights(const Profile& profile) {
    Weights weights;
    for (const auto& sample : profile.samples) {
        if (sample.idle) continue;
        weights[{sample.event, profile.functions[profile.stacks[sample.stack].functions.front()].name}] +=
            sample.weight;
    }
    return weights;
}

// Captures of ours (counters read at their cuts, late records, another rate later) and foreign ones.
TEST(FineMoments, AFinerTimelineChangesNothingElse) {
    for (const bool readings : {true, false}) {
        test::SyntheticOptions options{.slices = 6};
        options.readings = readings;
        options.late_per_slice = 5;
        if (readings) options.retunes = {{3 * options.slice, 199}};
        const Profile coarse = analyzed(options, {});
        const Profile fine = analyzed(options, milliseconds(100));
        EXPECT_EQ(fine.events, coarse.events);
        EXPECT_EQ(fine.cpus, coarse.cpus);
        EXPECT_EQ(fine.duration, coarse.duration);
        EXPECT_EQ(fine.start, coarse.start);
        EXPECT_EQ(fine.warnings, coarse.warnings);
        EXPECT_EQ(fine.degraded, coarse.degraded);
        EXPECT_EQ(fine.broken, coarse.broken);
        EXPECT_EQ(self_weights(fine), self_weights(coarse));

        EXPECT_GE(fine.moments.size(), FineMoments::kMost / 2);
        EXPECT_LE(fine.moments.size(), FineMoments::kMost);
        Weights listed;
        std::vector<std::uint64_t> samples(fine.events.size());
        Nanoseconds length{};
        for (const auto& moment : fine.moments) {
            length += moment.length;
            for (const auto& row : moment.top) listed[{row.event, fine.functions[row.function].name}] += row.weight;
            for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += moment.totals[i].samples;
        }
        EXPECT_EQ(listed, self_weights(fine));
        EXPECT_EQ(length, fine.duration);
        for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i], fine.events[i].samples);
    }
}

// Silence is time too, and a damaged time must not become millions of moments.
TEST(FineMoments, SilenceIsPartsWithoutSamples) {
    test::SyntheticCpu quiet{.busy = 0.02};
    quiet.samples_idle = false;
    test::SyntheticOptions options{.cpus = {quiet}, .slices = 4};
    const Profile profile = analyzed(options, milliseconds(100));
    EXPECT_GE(profile.moments.size(), FineMoments::kMost / 2);
    Nanoseconds length{};
    for (const auto& moment : profile.moments) length += moment.length;
    EXPECT_EQ(length, profile.duration);
}

}  // namespace
}  // namespace perfvigil::analyzer
