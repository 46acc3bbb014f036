// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/store_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "analyzer/profile/codec.hpp"
#include "cli/deploys.hpp"
#include "cli/profile_source.hpp"
#include "cli/stored_windows.hpp"
#include "daemon/store_files.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_profile.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// 2026-01-31 12:00:00Z
constexpr std::int64_t kNoon = 1769860800;

class StoreFolderTest : public testing::Test {
protected:
    StoreFolderTest() {
        fs::create_directories(dir);
        for (int minute = 1; minute <= 5; ++minute) put(minute, 100U * static_cast<unsigned>(minute));
        test::spill(dir + "/notes.txt", "x");
        test::spill(dir + "/index.sqlite", "no index");
        test::spill(dir + "/20260131T120900Z.profile.partial", "half");
    }
    static std::string id_of(int minute) { return "20260131T120" + std::to_string(minute) + "00Z"; }
    void put(int minute, std::uint64_t samples) const {
        const auto profile = test::small_profile(id_of(minute), kNoon + 60 * minute, samples);
        ASSERT_TRUE(daemon::write_profile(dir, profile.id, analyzer::encode_profile(profile)));
    }
    static WallTime at(int minute) { return WallTime(std::chrono::seconds(kNoon + 60 * minute)); }
    std::map<std::string, fs::file_time_type> files() const {
        std::map<std::string, fs::file_time_type> all;
        for (const auto& entry : fs::directory_iterator(dir)) all[entry.path()] = entry.last_write_time();
        return all;
    }

    test::TempFolder folder;
    std::string dir = folder / "store";
    std::string source = "store:" + dir;
};

TEST_F(StoreFolderTest, ListsWhatADaemonWouldList) {
    const auto reply = get(source, "/v1/windows?limit=3&kind=all");
    ASSERT_TRUE(reply) << reply.error().message;
    const auto windows = parse_windows(reply->body);
    ASSERT_TRUE(windows);
    std::vector<std::string> ids;
    for (const auto& window : *windows) ids.push_back(window.id);
    EXPECT_THAT(ids, ElementsAre(id_of(5), id_of(4), id_of(3)));
    EXPECT_EQ(windows->front().samples, 500U);
    EXPECT_EQ(windows->front().end, at(5));
}

TEST_F(StoreFolderTest, AnswersSpans) {
    const auto windows = windows_of({at(1), at(3)}, source);
    ASSERT_TRUE(windows) << windows.error().message;
    ASSERT_THAT(*windows, SizeIs(2));
    EXPECT_EQ(windows->front().id, id_of(2));
    const auto profile = profile_of({at(1), at(3)}, source);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->events.at(0).samples, 500U);
    EXPECT_FALSE(windows_of({at(20), at(30)}, source));
    EXPECT_THAT(*windows_of({WallTime{}, at(30)}, source), SizeIs(5));
}

TEST_F(StoreFolderTest, OpensWindowsById) {
    EXPECT_EQ(profile_from("latest", source, {})->events.at(0).samples, 500U);
    EXPECT_EQ(profile_from(id_of(2), source, {})->events.at(0).samples, 200U);
    const auto none = profile_from(id_of(7), source, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST_F(StoreFolderTest, WritesNothing) {
    const auto before = files();
    (void)get(source, "/v1/windows?limit=100&kind=all");
    (void)profile_of({at(1), at(3)}, source);
    (void)find_deploy("nginx", source, at(10));
    EXPECT_EQ(files(), before);
}

TEST_F(StoreFolderTest, ADamagedFileIsLeftOut) {
    test::spill(dir + "/" + id_of(4) + ".profile", "damaged");
    const auto reply = get(source, "/v1/windows?limit=10");
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_THAT(*parse_windows(reply->body), SizeIs(4));
}

TEST_F(StoreFolderTest, SaysWhatItCannotAnswer) {
    EXPECT_THAT(get(source, "/v1/status").error().message, HasSubstr("it needs the daemon itself"));
    EXPECT_THAT(get("store:" + dir + "/none", "/v1/windows").error().message, HasSubstr("is no folder"));
    fs::create_directories(folder / "empty");
    EXPECT_THAT(get("store:" + (folder / "empty"), "/v1/windows").error().message, HasSubstr("holds no stored window"));
    EXPECT_FALSE(get(source, "/v1/windows/..%2f..%2fx/profile"));
    EXPECT_FALSE(get(source, "/v1/windows/../x/profile"));
}

}  // namespace
}  // namespace perfvigil::cli
