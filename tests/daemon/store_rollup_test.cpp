// SPDX-License-Identifier: GPL-2.0-or-later
// Windows become roll-ups and archives, and go: whatever happens between, every sample is told once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/profile/codec.hpp"
#include "base/time_text.hpp"
#include "daemon/store.hpp"
#include "daemon/window_cover.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_profile.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using testing::IsEmpty;

constexpr WallTime kBegin{std::chrono::hours(24 * 20000)};

class StoreRollupTest : public testing::Test {
protected:
    // Short ones: windows of a minute, 5 of them a roll-up, 4 of those an archive.
    config::StoreOptions options() const {
        return {.directory = dir,
                .window_age = minutes(10),
                .rollup_length = minutes(5),
                .rollup_age = minutes(40),
                .archive_length = minutes(20),
                .archive_age = minutes(200)};
    }
    static WallTime at(int minute) { return kBegin + minutes(minute); }

    // The window of the minute that ends then; of as many samples.
    void put(ProfileStore& store, int minute) {
        const auto end = at(minute).time_since_epoch();
        auto profile =
            test::small_profile(compact_time(at(minute)), std::chrono::duration_cast<std::chrono::seconds>(end).count(),
                                static_cast<std::uint64_t>(minute));
        store.put(std::move(profile));
        put_samples += static_cast<std::uint64_t>(minute);
    }
    static void tend(ProfileStore& store, int minute) {
        int turns = 0;
        while (store.tend(at(minute), minutes(1))) ASSERT_LT(++turns, 10000);
    }
    // Of everything kept, each once.
    static std::uint64_t samples(const ProfileStore& store) {
        std::uint64_t sum = 0;
        for (const auto& window : cover(*store.catalog(), kBegin - minutes(1), kBegin + minutes(100000))) {
            sum += window->info.samples;
        }
        return sum;
    }
    static std::size_t count(const ProfileStore& store, WindowKind kind) {
        return static_cast<std::size_t>(
            std::ranges::count_if(*store.catalog(), [&](const auto& window) { return window->info.kind() == kind; }));
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(dir)) {
            if (entry.path().extension() == ".profile") names.push_back(entry.path().filename());
        }
        return names;
    }

    test::TempFolder folder;
    std::string dir = folder / "store";
    std::uint64_t put_samples = 0;
};

TEST_F(StoreRollupTest, EveryAgeHasItsGrain) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 120; ++minute) {
        put(store, minute);
        tend(store, minute);
        EXPECT_EQ(samples(store), put_samples) << "minute " << minute;
    }
    EXPECT_THAT(store.degraded(), IsEmpty());
    // Windows of 10 minutes, their roll-up's others with them; roll-ups of 40; archives of all.
    EXPECT_EQ(count(store, WindowKind::kArchive), 5U) << "the last 20 minutes are not over long enough";
    EXPECT_GE(count(store, WindowKind::kWindow), 10U);
    EXPECT_LE(count(store, WindowKind::kWindow), 15U);
    EXPECT_GE(count(store, WindowKind::kRollup), 8U);
    EXPECT_LE(count(store, WindowKind::kRollup), 12U);
    EXPECT_EQ(files().size(), store.catalog()->size());
    const auto hour = cover(*store.catalog(), at(0), at(20));
    ASSERT_EQ(hour.size(), 1U);
    EXPECT_EQ(hour[0]->info.samples, 210U);
    EXPECT_EQ(hour[0]->info.duration, minutes(20));
    const auto profile = analyzer::decode_profile(*read_window(dir, *hour[0]));
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->events.at(0).samples, 210U);
    EXPECT_EQ(profile->id, hour[0]->info.id);
}

TEST_F(StoreRollupTest, ArchivesGoAtTheirAge) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 20; ++minute) put(store, minute);
    tend(store, 30);
    EXPECT_EQ(count(store, WindowKind::kArchive), 1U);
    tend(store, 219);
    EXPECT_EQ(count(store, WindowKind::kArchive), 1U);
    tend(store, 221);
    EXPECT_THAT(*store.catalog(), IsEmpty());
    EXPECT_THAT(files(), IsEmpty());
    EXPECT_EQ(store.profile_bytes(), 0U);
}

TEST_F(StoreRollupTest, ItIsOneAgainAfterARestartWithoutItsIndex) {
    std::vector<WindowInfo> before;
    {
        ProfileStore store(options());
        store.open();
        for (int minute = 1; minute <= 60; ++minute) put(store, minute);
        tend(store, 60);
        for (const auto& window : *store.catalog()) before.push_back(window->info);
    }
    for (const bool index : {true, false}) {
        if (!index) StoreIndex::remove_files(dir + "/index.sqlite");
        ProfileStore store(options());
        store.open();
        std::vector<WindowInfo> after;
        for (const auto& window : *store.catalog()) after.push_back(window->info);
        EXPECT_EQ(after, before) << (index ? "from the index" : "from the files");
        EXPECT_EQ(samples(store), put_samples);
        EXPECT_EQ(store.counters().unreadable, 0U);
    }
}

// The daemon may die after each step of the upkeep. What a copy of the folder holds then is what the next one finds.
TEST_F(StoreRollupTest, AfterADeathAtAnyStepEverySampleIsThereOnce) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 45; ++minute) put(store, minute);
    int steps = 0;
    while (store.tend(at(45), minutes(1))) {
        if (++steps % 7 != 0) continue;
        const std::string copy = folder / ("copy" + std::to_string(steps));
        fs::copy(dir, copy);
        StoreIndex::remove_files(copy + "/index.sqlite");
        auto there = options();
        there.directory = copy;
        ProfileStore next(there);
        next.open();
        EXPECT_EQ(samples(next), put_samples) << "step " << steps;
        tend(next, 45);
        EXPECT_EQ(samples(next), put_samples) << "and after its own upkeep, step " << steps;
        fs::remove_all(copy);
    }
    EXPECT_GT(steps, 40);
}

TEST_F(StoreRollupTest, AnIndexOfBeforeTheRollupIsNoHarm) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 20; ++minute) put(store, minute);
    // A power cut may give the index of long ago back.
    const std::string old = folder / "old.sqlite";
    ASSERT_EQ(std::system(("sqlite3 " + dir + "/index.sqlite \".backup " + old + "\"").c_str()), 0);
    tend(store, 45);
    ASSERT_EQ(count(store, WindowKind::kWindow), 0U);
    const std::string copy = folder / "copy";
    fs::copy(dir, copy);
    StoreIndex::remove_files(copy + "/index.sqlite");
    fs::copy_file(old, copy + "/index.sqlite");
    auto there = options();
    there.directory = copy;
    ProfileStore next(there);
    next.open();
    EXPECT_EQ(samples(next), put_samples);
}

TEST_F(StoreRollupTest, TheClockIsSetBack) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 10; ++minute) put(store, minute);
    tend(store, 12);
    EXPECT_EQ(count(store, WindowKind::kRollup), 2U);
    // The same minutes again, while the first ones are kept …
    for (int minute = 1; minute <= 5; ++minute) put(store, minute);
    tend(store, 12);
    EXPECT_EQ(samples(store), put_samples);
    // … and when they are gone: their names are still those of what the roll-ups hold.
    tend(store, 25);
    EXPECT_EQ(count(store, WindowKind::kWindow), 0U);
    for (int minute = 1; minute <= 5; ++minute) put(store, minute);
    EXPECT_EQ(samples(store), put_samples);
    tend(store, 60);
    EXPECT_EQ(samples(store), put_samples);
    StoreIndex::remove_files(dir + "/index.sqlite");
    ProfileStore next(options());
    next.open();
    EXPECT_EQ(samples(next), put_samples);
}

TEST_F(StoreRollupTest, WindowsOfOneStretchThatOverlapAreRolledUpApart) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 5; ++minute) put(store, minute);
    for (int minute = 3; minute <= 5; ++minute) put(store, minute);
    tend(store, 7);
    EXPECT_EQ(count(store, WindowKind::kRollup), 2U);
    EXPECT_EQ(samples(store), put_samples);
}

TEST_F(StoreRollupTest, AnUnreadableWindowIsLeftAloneAndSaid) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 5; ++minute) put(store, minute);
    const auto& id = store.catalog()->at(2)->info.id;
    test::spill(dir + "/" + id + ".profile", "damaged");
    tend(store, 7);
    EXPECT_EQ(store.counters().unreadable, 1U);
    EXPECT_EQ(count(store, WindowKind::kRollup), 1U);
    tend(store, 30);
    EXPECT_EQ(count(store, WindowKind::kWindow), 1U) << "no roll-up holds it";
}

TEST_F(StoreRollupTest, WhatRollupsHoldGoesFirstWhenBytesRunOut) {
    ProfileStore store(options());
    store.open();
    for (int minute = 1; minute <= 12; ++minute) put(store, minute);
    tend(store, 12);
    ASSERT_EQ(count(store, WindowKind::kRollup), 2U);
    std::uint64_t rollups_and_newest = 0;
    for (const auto& window : cover(*store.catalog(), at(0), at(12))) rollups_and_newest += window->info.bytes;
    auto limits = options();
    limits.bytes = rollups_and_newest;
    store.set_limits(limits);
    EXPECT_EQ(count(store, WindowKind::kWindow), 2U);
    EXPECT_EQ(count(store, WindowKind::kRollup), 2U);
    EXPECT_EQ(samples(store), put_samples) << "nothing but grain was lost";
    limits.bytes = 1;
    store.set_limits(limits);
    EXPECT_EQ(store.catalog()->size(), 1U);
}

TEST_F(StoreRollupTest, WhereSpaceRunsOutTheStoreDoesNotGrow) {
    std::uint64_t free = 10U << 20;
    StoreLimits limits;
    limits.free_bytes = [&](const std::string&) -> Result<std::uint64_t> { return free; };
    auto with_guard = options();
    with_guard.free_bytes = 1U << 20;
    ProfileStore store(with_guard, limits);
    store.open();
    for (int minute = 1; minute <= 5; ++minute) put(store, minute);
    EXPECT_EQ(store.catalog()->size(), 5U);
    free = 1000;
    const auto before = store.profile_bytes();
    for (int minute = 6; minute <= 9; ++minute) put(store, minute);
    EXPECT_LE(store.profile_bytes(), before);
    EXPECT_LE(store.catalog()->size(), 5U);
    ASSERT_EQ(store.degraded().size(), 1U);
    EXPECT_EQ(store.degraded()[0].reason, "store_space");
    EXPECT_EQ(store.catalog()->back()->info.samples, 9U) << "new windows are stored all the same";
    free = 10U << 20;
    put(store, 10);
    EXPECT_THAT(store.degraded(), IsEmpty());
}

}  // namespace
}  // namespace perfvigil::daemon
