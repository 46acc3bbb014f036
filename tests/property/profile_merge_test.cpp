// SPDX-License-Identifier: GPL-2.0-or-later
// Profiles of stretches of one stream, merged, are the profile of the whole stream: whatever is counted adds exactly.
#include "analyzer/profile/merge.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "analyzer/profile/builder.hpp"
#include "analyzer/slice/kernel_text.hpp"
#include "tests/support/fake_symbolizer.hpp"
#include "tests/support/slice_collector.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::analyzer {
namespace {

using Rows = std::map<std::tuple<std::string, std::string, std::string, std::string, bool>,
                      std::pair<std::uint64_t, std::uint64_t>>;

// By event, stack, command, unit: numbers are a profile's own affair.
Rows rows_of(const Profile& profile) {
    Rows rows;
    for (const auto& sample : profile.samples) {
        std::string stack;
        for (const auto function : profile.stacks[sample.stack].functions) {
            stack += profile.functions[function].name + "<" + profile.functions[function].dso + ";";
        }
        stack += std::to_string(profile.stacks[sample.stack].flags);
        const auto& context = profile.contexts[sample.context];
        auto& [samples, weight] =
            rows[{profile.events[sample.event].name, stack, context.comm, context.unit, sample.idle}];
        samples += sample.samples;
        weight += sample.weight;
    }
    return rows;
}

using Tops = std::vector<std::map<std::pair<std::string, std::string>, std::uint64_t>>;
Tops tops_of(const Profile& profile) {
    Tops tops;
    for (const auto& moment : profile.moments) {
        auto& top = tops.emplace_back();
        for (const auto& row : moment.top) {
            top[{profile.events[row.event].name, profile.functions[row.function].name}] += row.weight;
        }
    }
    return tops;
}

struct Parts {
    std::vector<Profile> parts;
    Profile whole;
};

Parts recorded(std::uint64_t seed) {
    test::SyntheticOptions options{.slices = 6 + seed % 5};
    options.seed = seed;
    options.cpus = {{.busy = 0.9, .lost = seed % 2 == 0 ? 0.004 : 0}, {.busy = 0.3}};
    if (seed % 3 == 0) options.retunes = {{3 * options.slice, 199}};
    test::SyntheticStream stream(options);
    test::SliceCollector slices(stream.events(), KernelText(test::SyntheticCode::text_ranges()));
    slices.builder.set_baseline_times(stream.host().cpu_times.front().cpus);
    stream.run(slices);

    test::FakeSymbolizer symbolizer;
    ProfileBuilder of_part(stream.events().events(), symbolizer);
    ProfileBuilder of_whole(stream.events().events(), symbolizer);
    Parts result;
    for (std::size_t i = 0; i < slices.slices.size(); ++i) {
        const auto number = static_cast<std::int64_t>(seed * 31 + i);
        slices.slices[i]->waits = {{{CpuId{1}, Nanoseconds(number)}},
                                   {{"/system.slice/a.service", 50, i, Nanoseconds(number % 7)},
                                    {"/b" + std::to_string(i % 2), i, 1, Nanoseconds(number % 5)}}};
        of_part.add(*slices.slices[i]);
        of_whole.add(*slices.slices[i]);
        const bool ends = i % (1 + seed % 3) == 0 || i + 1 == slices.slices.size();
        if (ends) result.parts.push_back(of_part.build(stream.host(), "part" + std::to_string(i)));
    }
    result.whole = of_whole.build(stream.host(), "whole");
    return result;
}

TEST(ProfileMerge, PartsAreTheWhole) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        auto [parts, whole] = recorded(seed);
        ASSERT_GT(parts.size(), 1U);
        const std::string id = parts.front().id + ".." + parts.back().id;
        std::vector<ClockLedger> ledgers(whole.cpus.size());
        for (const auto& part : parts) {
            for (std::size_t i = 0; i < part.cpus.size(); ++i) ledgers[i] += part.cpus[i].ledger;
        }
        std::ranges::reverse(parts);  // any order
        const auto merged = merge_profiles(std::move(parts));
        ASSERT_TRUE(merged) << merged.error().message;
        EXPECT_EQ(merged->id, id);
        EXPECT_EQ(merged->start, whole.start);
        EXPECT_EQ(merged->end, whole.end);
        EXPECT_EQ(merged->duration, whole.duration);
        EXPECT_EQ(merged->events, whole.events);
        EXPECT_EQ(merged->host, whole.host);
        EXPECT_EQ(merged->throttled_units, whole.throttled_units);
        EXPECT_EQ(rows_of(*merged), rows_of(whole));
        EXPECT_EQ(tops_of(*merged), tops_of(whole));
        ASSERT_EQ(merged->cpus.size(), whole.cpus.size());
        for (std::size_t i = 0; i < whole.cpus.size(); ++i) {
            // The one real number of them is added in another order.
            CpuSlice sum = merged->cpus[i].sum;
            EXPECT_NEAR(sum.ticks_due, whole.cpus[i].sum.ticks_due, 1e-9 * sum.ticks_due);
            sum.ticks_due = whole.cpus[i].sum.ticks_due;
            EXPECT_EQ(sum, whole.cpus[i].sum);
            EXPECT_NEAR(merged->cpus[i].busy.ratio, whole.cpus[i].busy.ratio, 1e-9);
            EXPECT_EQ(merged->cpus[i].ledger, ledgers[i]);
            EXPECT_EQ(merged->cpus[i].run_delay_ns, whole.cpus[i].run_delay_ns);
            EXPECT_EQ(merged->cpus[i].ledger.total, whole.cpus[i].ledger.total);
        }
        ASSERT_EQ(merged->moments.size(), whole.moments.size());
        for (std::size_t i = 0; i < whole.moments.size(); ++i) {
            EXPECT_EQ(merged->moments[i].totals, whole.moments[i].totals);
            EXPECT_EQ(merged->moments[i].cpus, whole.moments[i].cpus);
            EXPECT_EQ(merged->moments[i].length, whole.moments[i].length);
        }
    }
}

TEST(ProfileMerge, ABinaryOfTwoBuildsHasNone) {
    auto [parts, whole] = recorded(4);
    ASSERT_GE(parts.size(), 2U);
    parts.resize(2);
    const std::string dso = parts[0].functions.front().dso;
    const auto merged_ids = [&](std::string first, std::string second) {
        auto two = parts;
        for (auto& part : two) part.dsos.clear();
        if (!first.empty()) two[0].dsos.push_back({.name = dso, .build_id = std::move(first)});
        if (!second.empty()) two[1].dsos.push_back({.name = dso, .build_id = std::move(second)});
        return merge_profiles(std::move(two)).value().dsos;
    };
    EXPECT_EQ(merged_ids("aa", "aa"), (std::vector<ProfileDso>{{.name = dso, .build_id = "aa"}}));
    EXPECT_TRUE(merged_ids("aa", "bb").empty());
    EXPECT_TRUE(merged_ids("aa", "").empty());  // of the second part it is not known, or more than one
}

TEST(ProfileMerge, OneProfileStaysAsItIs) {
    auto [parts, whole] = recorded(1);
    const auto merged = merge_profiles({whole});
    ASSERT_TRUE(merged);
    EXPECT_EQ(*merged, whole);
}

TEST(ProfileMerge, WhatCannotBeOneProfileIsNamed) {
    auto [parts, whole] = recorded(2);
    const auto message = [&](auto change) {
        std::vector<Profile> two{parts[0], parts[1]};
        change(two[1]);
        const auto merged = merge_profiles(std::move(two));
        return merged ? std::string("merged") : merged.error().message;
    };
    EXPECT_EQ(message([](Profile&) {}), "merged");
    EXPECT_EQ(message([](Profile& p) { p.host.hostname = "elsewhere"; }),
              parts[1].id + " is of host elsewhere, the one before of " + parts[0].host.hostname +
                  ": they cannot be one profile");
    EXPECT_EQ(message([](Profile& p) { p.filter = "--comm x"; }),
              parts[1].id + " was selected differently than the one before: they cannot be one profile");
    EXPECT_EQ(message([&](Profile& p) { p.start = parts[0].start + std::chrono::seconds(1); }),
              parts[1].id + " holds time that the one before holds too: they cannot be one profile");
    EXPECT_EQ(message([](Profile& p) { p.events.back().unit = WeightUnit::kEvents; }),
              parts[1].id + " weighs " + whole.events.back().name +
                  " by another unit than the one before: they cannot be one profile");
    EXPECT_FALSE(merge_profiles({}));
}

}  // namespace
}  // namespace perfvigil::analyzer
