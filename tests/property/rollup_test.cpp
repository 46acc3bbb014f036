// SPDX-License-Identifier: GPL-2.0-or-later
// A roll-up gives up call chains and the grain of its timeline, and nothing that is counted.
#include "analyzer/profile/rollup.hpp"

#include <gtest/gtest.h>

#include <map>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/merge.hpp"
#include "tests/support/window_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using Sums = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;

// Samples and weight by what a name says of each row.
template <class Name>
Sums sums_by(const Profile& profile, Name&& name) {
    Sums sums;
    for (const auto& sample : profile.samples) {
        auto& [samples, weight] = sums[name(sample) + (sample.idle ? " idle" : "")];
        samples += sample.samples;
        weight += sample.weight;
    }
    return sums;
}

Sums by_event(const Profile& p) {
    return sums_by(p, [&](const ProfileSample& sample) { return p.events[sample.event].name; });
}
Sums by_unit(const Profile& p) {
    return sums_by(p, [&](const ProfileSample& sample) {
        return p.contexts[sample.context].unit + "/" + p.contexts[sample.context].container;
    });
}
Sums by_leaf(const Profile& p) {
    return sums_by(
        p, [&](const ProfileSample& sample) { return p.functions[p.stacks[sample.stack].functions.front()].name; });
}
Sums by_way_of_ending(const Profile& p) {
    return sums_by(
        p, [&](const ProfileSample& sample) { return std::to_string(p.stacks[sample.stack].flags & ~kStackCut); });
}

// What the CPUs' parts of the timeline add up to.
std::map<std::uint32_t, ClockLedger> ledgers_of_moments(const Profile& p) {
    std::map<std::uint32_t, ClockLedger> sums;
    for (const auto& moment : p.moments) {
        for (const auto& cpu : moment.cpus) sums[cpu.sum.cpu.value] += cpu.ledger;
    }
    return sums;
}
EventTotals totals_of_moments(const Profile& p) {
    EventTotals sum;
    for (const auto& moment : p.moments) {
        for (const auto& totals : moment.totals) accumulate(sum, totals);
    }
    return sum;
}

std::vector<Profile> windows(std::uint64_t seed, int count) {
    test::WindowMaker maker(seed, {.stacks = 20000, .cpus = 1 + seed % 3, .busy = seed % 2 == 0 ? 0.05 : 0.8});
    std::vector<Profile> made;
    for (int i = 1; i <= count; ++i) made.push_back(maker.make(WallTime(std::chrono::minutes(1000 + i))));
    return made;
}

TEST(RollupProperty, NothingCountedIsLost) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const auto parts = windows(seed, 10);
        const auto before = merge_profiles(parts).value();
        auto after = before;
        roll_up(after);
        // With few samples a single one is more than the share that is given up.
        if (seed % 2 == 1) {
            EXPECT_LT(after.stacks.size(), before.stacks.size() / 2) << "seed " << seed;
        }
        EXPECT_EQ(after.events, before.events);
        EXPECT_EQ(by_event(after), by_event(before));
        EXPECT_EQ(by_unit(after), by_unit(before));
        EXPECT_EQ(by_way_of_ending(after), by_way_of_ending(before));
        EXPECT_EQ(after.cpus, before.cpus) << "ledger terms, periods, ticks";
        EXPECT_EQ(after.programs, before.programs);
        EXPECT_EQ(after.broken, before.broken);
        EXPECT_EQ(after.duration, before.duration);
        EXPECT_LE(after.moments.size(), RollupLimits{}.moments);
        EXPECT_EQ(ledgers_of_moments(after), ledgers_of_moments(before));
        EXPECT_EQ(totals_of_moments(after), totals_of_moments(before));
        std::uint64_t sum = 0;
        for (const auto& part : parts) sum += part.events[0].samples;
        EXPECT_EQ(after.events[0].samples, sum);
    }
}

TEST(RollupProperty, AFunctionKeepsItsOwnShareOrNone) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const auto before = merge_profiles(windows(seed, 10)).value();
        auto after = before;
        roll_up(after);
        const auto old = by_leaf(before);
        auto now = by_leaf(after);
        std::map<bool, std::uint64_t> whole;
        for (const auto& sample : before.samples) whole[sample.idle] += sample.weight;
        std::uint64_t pruned = 0;
        for (const auto& [name, sums] : old) {
            if (const auto found = now.find(name); found != now.end()) {
                EXPECT_EQ(found->second, sums) << name;
                continue;
            }
            const bool idle = name.ends_with(" idle");
            EXPECT_LT(static_cast<double>(sums.second), 0.0001 * static_cast<double>(whole[idle])) << name;
            pruned += sums.second;
        }
        EXPECT_EQ(now[std::string(kPruned)].second, pruned);
    }
}

TEST(RollupProperty, RolledUpAgainAndStored) {
    const auto parts = windows(7, 20);
    auto first = merge_profiles({parts.begin(), parts.begin() + 10}).value();
    auto second = merge_profiles({parts.begin() + 10, parts.end()}).value();
    roll_up(first);
    roll_up(second);
    auto hour = merge_profiles({first, second}).value();
    const auto before = hour;
    roll_up(hour);
    EXPECT_EQ(by_event(hour), by_event(before));
    EXPECT_EQ(by_unit(hour), by_unit(before));
    EXPECT_EQ(hour.cpus, before.cpus);
    const auto whole = merge_profiles(parts).value();
    ASSERT_EQ(hour.cpus.size(), whole.cpus.size());
    for (std::size_t i = 0; i < whole.cpus.size(); ++i) {
        EXPECT_EQ(hour.cpus[i].ledger, whole.cpus[i].ledger) << "as if there had been no roll-up between";
        EXPECT_EQ(hour.cpus[i].sum.samples, whole.cpus[i].sum.samples);
    }
    const auto again = decode_profile(encode_profile(hour));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, hour);
    auto twice = hour;
    roll_up(twice);
    EXPECT_EQ(twice, hour) << "nothing more to give up";
}

}  // namespace
}  // namespace perfvigil::analyzer
