// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/hotspot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace perfvigil::daemon {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using State = HotspotFamily::State;

// A family under a clock of its own: every slice is five seconds.
class Host {
public:
    explicit Host(HotspotOptions options = {}) : family(options) {}

    void add(std::string_view name, std::uint64_t samples, std::uint64_t unit = 0) {
        family.add(name, unit, samples, samples * kTick);
        truth += samples * kTick;
    }
    // `served`: the values after the previous slice were scraped.
    void close(bool served = false) {
        if (served) newest_served = now;
        now += seconds(5);
        family.close_slice(now, newest_served);
    }
    // One slice of these names, each with so many samples.
    void slice(const std::map<std::string, std::uint64_t>& load, bool served = false) {
        for (const auto& [name, samples] : load) add(name, samples);
        close(served);
    }
    void run(Nanoseconds length, const std::map<std::string, std::uint64_t>& load) {
        for (const auto until = now + length; now < until;) slice(load);
    }

    [[nodiscard]] const HotspotFamily::Series* find(std::string_view name) const {
        for (const auto& series : family.series()) {
            if (series.name == name) return &series;
        }
        return nullptr;
    }
    [[nodiscard]] std::optional<std::uint64_t> value(std::string_view name) const {
        const auto* series = find(name);
        return series == nullptr ? std::nullopt : std::optional(series->value);
    }
    [[nodiscard]] bool counting(std::string_view name) const {
        const auto* series = find(name);
        return series != nullptr && series->state == State::kCounting;
    }
    [[nodiscard]] std::uint64_t shown() const {
        std::uint64_t sum = family.other();
        for (const auto& series : family.series()) sum += series.value;
        return sum;
    }

    static constexpr std::uint64_t kTick = 10101010;
    HotspotFamily family;
    MonotonicTime now{hours(1000)};
    MonotonicTime newest_served = MonotonicTime::min();
    std::uint64_t truth = 0;
};

TEST(Hotspot, ASeriesAppearsAtZeroAndCountsFromTheNextSlice) {
    Host host;
    host.slice({{"hot", 100}, {"rare", 2}});
    ASSERT_NE(host.find("hot"), nullptr);
    EXPECT_EQ(host.value("hot"), 0U);
    EXPECT_EQ(host.find("hot")->state, State::kAnnounced);
    EXPECT_EQ(host.find("rare"), nullptr) << "two samples are not yet a hotspot";
    EXPECT_EQ(host.family.other(), 102 * Host::kTick);

    host.slice({{"hot", 50}, {"rare", 2}});
    EXPECT_EQ(host.value("hot"), 50 * Host::kTick);
    EXPECT_EQ(host.value("rare"), 0U);
    EXPECT_EQ(host.family.other(), 104 * Host::kTick);
    EXPECT_EQ(host.family.total(), 154 * Host::kTick);
}

TEST(Hotspot, WhileScrapedASeriesWaitsUntilItsZeroWasSeen) {
    Host host;
    host.slice({{"old", 100}});
    host.slice({{"old", 100}}, true);  // a scraper is about
    host.slice({{"old", 100}, {"new", 100}});
    ASSERT_NE(host.find("new"), nullptr);
    host.slice({{"old", 100}, {"new", 100}}, false);
    EXPECT_EQ(host.value("new"), 0U) << "nobody has seen the 0 yet";
    host.slice({{"old", 100}, {"new", 100}}, true);
    EXPECT_EQ(host.value("new"), 100 * Host::kTick);

    host.slice({{"old", 100}, {"later", 100}});
    for (int i = 0; i < 12; ++i) host.slice({{"later", 100}});
    EXPECT_EQ(host.value("later"), 0U) << "60 s of patience";
    host.slice({{"later", 100}});
    EXPECT_EQ(host.value("later"), 100 * Host::kTick) << "the scraper is gone";
}

TEST(Hotspot, ExitKeepsTheSeriesConstantThenRemovesIt) {
    Host host;
    host.run(minutes(10), {{"base", 400}, {"fading", 40}});
    const std::uint64_t value = host.value("fading").value();
    // Down from 9 % to under 0.1 % of the decayed weight takes about seven half-lives; then 30 minutes of exile.
    const auto left = host.now;
    while (host.counting("fading")) {
        host.slice({{"base", 440}});
        ASSERT_LT(host.now - left, minutes(75));
    }
    EXPECT_GT(host.now - left, minutes(60));
    const auto lingering = host.now;
    while (host.find("fading") != nullptr) {
        EXPECT_EQ(host.value("fading"), value);
        host.slice({{"base", 440}});
    }
    EXPECT_EQ(host.now - lingering, minutes(10));
    EXPECT_EQ(host.family.gone(), value);
    EXPECT_EQ(host.shown() + host.family.gone(), host.truth);

    host.slice({{"base", 400}, {"fading", 200}});
    ASSERT_NE(host.find("fading"), nullptr);
    EXPECT_EQ(host.value("fading"), 0U) << "an entry like any other";
}

TEST(Hotspot, WhatComesBackWhileLingeringGoesOnFromItsValue) {
    Host host;
    host.run(minutes(10), {{"base", 400}, {"fading", 40}});
    while (host.counting("fading")) host.slice({{"base", 440}});
    const std::uint64_t value = host.value("fading").value();
    host.slice({{"base", 400}, {"fading", 100}});
    EXPECT_EQ(host.value("fading"), value) << "this slice was still (other)'s";
    host.slice({{"base", 400}, {"fading", 100}});
    EXPECT_EQ(host.value("fading"), value + 100 * Host::kTick);
}

std::map<std::string, std::uint64_t> crowd(std::size_t count, std::uint64_t samples) {
    std::map<std::string, std::uint64_t> load;
    for (std::size_t i = 0; i < count; ++i) load["f" + std::to_string(i)] = samples;
    return load;
}

TEST(Hotspot, AFreshFamilyFillsItsCoreAtOnceAndKeepsRoomForNewcomers) {
    Host host;
    host.slice(crowd(300, 5));
    EXPECT_EQ(host.family.series().size(), 75U);
    host.run(hours(2), crowd(300, 5));
    EXPECT_LE(host.family.series().size(), 99U);

    // A deployment two hours later: named within 15 s, although 300 equals fill the ranks.
    auto load = crowd(300, 5);
    load["newcomer"] = 300;
    host.run(seconds(15), load);
    EXPECT_NE(host.find("newcomer"), nullptr);
}

TEST(Hotspot, AfterTheFirstHourTwentyNewSeriesAnHour) {
    Host host;
    host.run(minutes(61), {{"base", 100}});
    auto load = crowd(60, 20);
    for (int i = 0; i < 12; ++i) host.slice(load);
    EXPECT_EQ(host.family.series().size(), 1U + 20U) << "heavy ones may use the whole hour's allowance";
    host.run(minutes(58), load);
    EXPECT_EQ(host.family.series().size(), 1U + 20U);
    host.run(minutes(2), load);
    EXPECT_EQ(host.family.series().size(), 1U + 40U);
}

TEST(Hotspot, LightNamesLeaveAQuarterOfTheHourToHeavierOnes) {
    Host host;
    host.run(minutes(61), {{"base", 10000}});
    auto load = crowd(60, 30);  // 0.25 % each
    load["base"] = 10000;
    host.run(minutes(10), load);
    EXPECT_EQ(host.family.series().size(), 1U + 15U);
    load["heavy"] = 3000;
    host.run(seconds(30), load);
    EXPECT_NE(host.find("heavy"), nullptr);
}

TEST(Hotspot, NoUnitTakesMoreThanAQuarter) {
    Host host;
    for (int slice = 0; slice < 3; ++slice) {
        for (int i = 0; i < 80; ++i) host.add("noisy" + std::to_string(i), 50, 7);
        for (int i = 0; i < 20; ++i) host.add("quiet" + std::to_string(i), 5, 8);
        for (int i = 0; i < 40; ++i) host.add("kernel" + std::to_string(i), 10, 0);
        host.close();
    }
    std::map<std::uint64_t, int> per_unit;
    for (const auto& series : host.family.series()) ++per_unit[series.unit];
    EXPECT_EQ(per_unit[7], 25);
    EXPECT_EQ(per_unit[8], 10) << "what the noisy ones leave of the core";
    EXPECT_EQ(per_unit[0], 40) << "the kernel's own names are nobody's";
}

TEST(Hotspot, AFunctionOfManyUnitsIsTheirsWhoUseItMost) {
    Host host;
    host.add("malloc", 3, 1);
    host.add("malloc", 50, 2);
    host.add("malloc", 4, 3);
    host.close();
    ASSERT_NE(host.find("malloc"), nullptr);
    EXPECT_EQ(host.find("malloc")->unit, 2U);
}

TEST(Hotspot, BudgetsOfAnySizeHold) {
    for (const std::size_t budget : {0U, 1U, 2U, 3U, 10U}) {
        Host host({.budget = budget});
        for (int i = 0; i < 20; ++i) host.slice(crowd(30, 10));
        EXPECT_LE(host.family.series().size() + 1, std::max<std::size_t>(budget, 1)) << budget;
        EXPECT_EQ(host.shown(), host.truth) << budget;
    }
}

TEST(Hotspot, NamesThatKeepChangingDoNotGrowIt) {
    Host host;
    for (int slice = 0; slice < 200; ++slice) {
        for (int i = 0; i < 5000; ++i) host.add("n" + std::to_string(slice * 5000 + i), 1);
        host.close();
        EXPECT_LE(host.family.candidates(), 4096U);
    }
    for (int i = 0; i < 100000; ++i) host.add("storm" + std::to_string(i), 1);
    EXPECT_LE(host.family.candidates(), 4U * 4096U) << "within a slice too";
    host.close();
    EXPECT_EQ(host.shown() + host.family.gone(), host.truth);
}

// Thousands of slices of a changing host, checked against the rules from outside.
class Watcher {
public:
    void look(const Host& host, std::uint64_t slice_weight) {
        std::map<std::string, std::uint64_t> now;
        std::map<std::uint64_t, std::size_t> per_unit;
        std::uint64_t rise = host.family.other() - other_;
        ASSERT_GE(host.family.other(), other_);
        for (const auto& series : host.family.series()) {
            ASSERT_TRUE(now.emplace(series.name, series.value).second) << "twice: " << series.name;
            if (series.unit != 0) {
                ASSERT_LE(++per_unit[series.unit], 25U);
            }
            const auto before = values_.find(series.name);
            if (before == values_.end()) {
                ASSERT_EQ(series.value, 0U) << "entered at a value";
                entries_.push_back(host.now);
                constant_since_[series.name] = host.now;
                continue;
            }
            ASSERT_GE(series.value, before->second) << series.name;
            if (series.value != before->second) constant_since_[series.name] = host.now;
            rise += series.value - before->second;
        }
        ASSERT_EQ(rise, slice_weight) << "what a scraper adds up";
        ASSERT_EQ(host.shown() + host.family.gone(), host.truth);
        ASSERT_LE(now.size(), 99U);
        for (const auto& [name, value] : values_) {
            if (now.contains(name)) continue;
            ASSERT_GE(host.now - constant_since_[name], minutes(10)) << name;
            ++exits;
        }
        while (!entries_.empty() && host.now - entries_.front() >= hours(1)) entries_.pop_front();
        if (host.now - start_ >= hours(2)) {
            ASSERT_LE(entries_.size(), 20U);
        }
        values_ = std::move(now);
        other_ = host.family.other();
    }
    explicit Watcher(MonotonicTime start) : start_(start) {}
    int exits = 0;

private:
    MonotonicTime start_;
    std::map<std::string, std::uint64_t> values_;
    std::map<std::string, MonotonicTime> constant_since_;
    std::deque<MonotonicTime> entries_;
    std::uint64_t other_ = 0;
};

class HotspotProperty : public testing::TestWithParam<unsigned> {};

TEST_P(HotspotProperty, SumIsTruthAndNothingFalls) {
    std::mt19937 random(GetParam());
    Host host;
    Watcher watcher(host.now);
    std::poisson_distribution<std::uint64_t> noise(0.2);
    // Zipf's weights; now and then another name takes a rank, and sometimes a deployment renames a quarter of them.
    constexpr std::uint64_t kRanks = 150;
    std::array<std::uint64_t, kRanks> generation{};
    for (int slice = 0; slice < 6000 && !testing::Test::HasFatalFailure(); ++slice) {  // 8 h 20 min
        const std::uint64_t before = host.truth;
        if (random() % 100 == 0) ++generation[random() % kRanks];
        if (random() % 2000 == 0) {
            for (std::uint64_t rank = random() % 4; rank < kRanks; rank += 4) ++generation[rank];
        }
        for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
            const auto samples = std::poisson_distribution<std::uint64_t>(60.0 / static_cast<double>(rank + 1))(random);
            const std::uint64_t id = rank + kRanks * (generation[rank] % 3);
            if (samples > 0) host.add("f" + std::to_string(id), samples, rank % 5);
        }
        for (std::uint64_t i = 0; i < 50; ++i) {
            if (const auto samples = noise(random); samples > 0) host.add("n" + std::to_string(random()), samples, 9);
        }
        host.close(random() % 3 == 0);
        watcher.look(host, host.truth - before);
    }
    EXPECT_GT(watcher.exits, 20) << "the run was to show exits";
    EXPECT_GT(host.family.series().size(), 50U);
    EXPECT_LT(static_cast<double>(host.family.other()), 0.6 * static_cast<double>(host.truth));
}

INSTANTIATE_TEST_SUITE_P(Seeds, HotspotProperty, testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace perfvigil::daemon
