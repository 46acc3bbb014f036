// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/profile/codec.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_profile.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StoreTest : public testing::Test {
protected:
    config::StoreOptions options(std::uint64_t bytes = 1U << 30) { return {.directory = dir, .bytes = bytes}; }

    static std::vector<std::string> ids(const ProfileStore& store) {
        std::vector<std::string> all;
        for (const auto& window : *store.catalog()) all.push_back(window->info.id);
        return all;
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(dir)) {
            const std::string name = entry.path().filename();
            if (!name.starts_with("index.sqlite")) names.push_back(name);
        }
        std::ranges::sort(names);
        return names;
    }
    // Three windows, of which the ids are the minutes.
    void fill(ProfileStore& store) {
        for (int minute = 1; minute <= 3; ++minute) {
            store.put(test::small_profile("20260131T120" + std::to_string(minute) + "00Z", minute * 60));
        }
    }
    static constexpr const char* kOne = "20260131T120100Z";
    static constexpr const char* kTwo = "20260131T120200Z";
    static constexpr const char* kThree = "20260131T120300Z";

    test::TempFolder folder;
    std::string dir = folder / "store";
};

TEST_F(StoreTest, KeepsWindowsAcrossRestarts) {
    {
        ProfileStore store(options());
        store.open();
        EXPECT_THAT(store.degraded(), IsEmpty());
        fill(store);
        EXPECT_EQ(store.counters().stored, 3U);
    }
    ProfileStore store(options());
    store.open();
    EXPECT_THAT(ids(store), ElementsAre(kOne, kTwo, kThree));
    const auto& info = store.catalog()->front()->info;
    EXPECT_EQ(info.samples, 10U);
    EXPECT_EQ(info.lost, 2U);
    EXPECT_EQ(info.end, WallTime(std::chrono::seconds(60)));
    EXPECT_EQ(info.duration, std::chrono::seconds(60));
    const auto bytes = read_window(dir, *store.catalog()->front());
    ASSERT_TRUE(bytes);
    EXPECT_EQ(bytes->size(), info.bytes);
    const auto profile = analyzer::decode_profile(*bytes);
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->functions.at(0).name, "spin_here");
    std::uint64_t sum = 0;
    for (const auto& window : *store.catalog()) sum += window->info.bytes;
    EXPECT_EQ(store.profile_bytes(), sum);
    EXPECT_GT(store.index_bytes(), 0U);
}

TEST_F(StoreTest, SameEndGetsAnIdOfItsOwn) {
    ProfileStore store(options());
    store.open();
    EXPECT_EQ(store.put(test::small_profile(kOne, 60)), kOne);
    EXPECT_EQ(store.put(test::small_profile(kOne, 60)), std::string(kOne) + "-2");
    EXPECT_EQ(store.put(test::small_profile(kOne, 60)), std::string(kOne) + "-3");
    EXPECT_THAT(ids(store), ElementsAre(kOne, std::string(kOne) + "-2", std::string(kOne) + "-3"));
    const auto profile = analyzer::decode_profile(*read_window(dir, *store.catalog()->back()));
    EXPECT_EQ(profile->id, std::string(kOne) + "-3");
}

TEST_F(StoreTest, RemovesTheOldestOverItsBytes) {
    std::uint64_t one = 0;
    {
        ProfileStore store(options());
        store.open();
        store.put(test::small_profile(kOne, 60));
        one = store.profile_bytes();
    }
    ProfileStore store(options(one * 2 + one / 2));
    store.open();
    store.put(test::small_profile(kTwo, 120));
    EXPECT_THAT(ids(store), ElementsAre(kOne, kTwo));
    store.put(test::small_profile(kThree, 180));
    EXPECT_THAT(ids(store), ElementsAre(kTwo, kThree));
    EXPECT_THAT(files(), ElementsAre(std::string(kTwo) + ".profile", std::string(kThree) + ".profile"));
    EXPECT_EQ(store.counters().removed, 1U);
    store.set_limits(options(1));
    EXPECT_THAT(ids(store), ElementsAre(kThree)) << "the newest stays, however small the budget";
    ProfileStore again(options(1));
    again.open();
    EXPECT_THAT(ids(again), ElementsAre(kThree)) << "and the index knows";
}

TEST_F(StoreTest, RebuildsAMissingIndex) {
    {
        ProfileStore store(options());
        store.open();
        fill(store);
    }
    StoreIndex::remove_files(dir + "/index.sqlite");
    ProfileStore store(options());
    store.open();
    EXPECT_THAT(ids(store), ElementsAre(kOne, kTwo, kThree));
    EXPECT_EQ(store.catalog()->front()->info.samples, 10U);
    EXPECT_EQ(store.catalog()->front()->info.start, WallTime{});
}

TEST_F(StoreTest, RebuildsADamagedIndex) {
    {
        ProfileStore store(options());
        store.open();
        fill(store);
    }
    for (const auto* damage : {"this is no database, whatever its name says", "SQLite format 3", ""}) {
        StoreIndex::remove_files(dir + "/index.sqlite");
        test::spill(dir + "/index.sqlite", std::string(damage) + std::string(damage[0] != 0 ? 5000 : 0, 'x'));
        ProfileStore store(options());
        store.open();
        EXPECT_THAT(ids(store), ElementsAre(kOne, kTwo, kThree)) << damage;
        EXPECT_THAT(store.degraded(), IsEmpty()) << damage;
    }
    // Damage inside a real database.
    auto bytes = test::slurp(dir + "/index.sqlite");
    ASSERT_GT(bytes.size(), 4096U);
    for (std::size_t i = 100; i < bytes.size(); ++i) bytes[i] = '\x5a';
    StoreIndex::remove_files(dir + "/index.sqlite");
    test::spill(dir + "/index.sqlite", bytes);
    ProfileStore store(options());
    store.open();
    EXPECT_THAT(ids(store), ElementsAre(kOne, kTwo, kThree));
}

TEST_F(StoreTest, IndexOfAnotherVersionIsMadeAnew) {
    const std::string path = folder / "index.sqlite";
    test::spill(path, "");
    ASSERT_EQ(std::system(("sqlite3 " + path + " 'PRAGMA user_version=99' >/dev/null").c_str()), 0);
    const auto index = StoreIndex::open(path);
    ASSERT_FALSE(index);
    EXPECT_EQ(index.error().code, ErrorCode::kInvalid);
}

TEST_F(StoreTest, FilesAreTheTruth) {
    {
        ProfileStore store(options());
        store.open();
        fill(store);
    }
    fs::remove(dir + "/" + kTwo + ".profile");
    auto late = test::small_profile("20260131T120400Z", 240, 77);
    const auto bytes = analyzer::encode_profile(late);
    test::spill(dir + "/20260131T120400Z.profile", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    test::spill(dir + "/20260131T120500Z.profile", "damaged");
    test::spill(dir + "/20260131T120600Z.profile.partial", "half a profile of a killed daemon");
    test::spill(dir + "/notes.profile", "somebody's own file");
    ProfileStore store(options());
    store.open();
    EXPECT_THAT(ids(store), ElementsAre(kOne, kThree, "20260131T120400Z"));
    EXPECT_EQ(store.catalog()->back()->info.samples, 77U);
    EXPECT_EQ(store.counters().unreadable, 1U);
    EXPECT_FALSE(fs::exists(dir + "/20260131T120600Z.profile.partial"));
    EXPECT_TRUE(fs::exists(dir + "/notes.profile"));
    EXPECT_TRUE(fs::exists(dir + "/20260131T120500Z.profile")) << "what cannot be read is not ours to delete";
}

TEST_F(StoreTest, RefusedByTheDiskWindowsStayInMemory) {
    test::spill(dir, "a file where the folder should be");
    ProfileStore store(options(), {.memory_windows = 2, .memory_bytes = 1U << 20});
    store.open();
    ASSERT_EQ(store.degraded().size(), 1U);
    EXPECT_EQ(store.degraded()[0].reason, "store");
    EXPECT_THAT(store.degraded()[0].remedy, HasSubstr("must be a folder"));
    fill(store);
    EXPECT_THAT(ids(store), ElementsAre(kTwo, kThree)) << "bounded";
    EXPECT_EQ(store.counters().failed, 3U);
    EXPECT_EQ(store.counters().dropped, 1U);
    const auto profile = analyzer::decode_profile(*read_window(dir, *store.catalog()->front()));
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->id, kTwo);

    // The disk comes back: what waited is written, in order, before what is new.
    fs::remove(dir);
    fs::create_directories(dir);
    store.put(test::small_profile("20260131T120400Z", 240));
    EXPECT_THAT(store.degraded(), IsEmpty());
    EXPECT_EQ(store.counters().stored, 3U);
    ProfileStore again(options());
    again.open();
    EXPECT_THAT(ids(again), ElementsAre(kTwo, kThree, "20260131T120400Z"));
    for (const auto& window : *store.catalog()) EXPECT_EQ(window->in_memory, nullptr);
}

TEST_F(StoreTest, MemoryIsBoundedInBytesToo) {
    test::spill(dir, "");
    ProfileStore store(options(), {.memory_windows = 100, .memory_bytes = 1});
    store.open();
    fill(store);
    EXPECT_THAT(ids(store), ElementsAre(kThree));
}

TEST_F(StoreTest, AWindowTakenByTheBudgetIsNotFound) {
    ProfileStore store(options());
    store.open();
    fill(store);
    const auto before = store.catalog();
    store.set_limits(options(1));
    const auto read = read_window(dir, *before->front());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfvigil::daemon
