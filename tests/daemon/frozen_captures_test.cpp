// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/frozen_captures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/time_text.hpp"
#include "daemon/frozen_json.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const WallTime kNoon =
    WallTime(std::chrono::sys_days(std::chrono::year(2026) / 1 / 31).time_since_epoch()) + std::chrono::hours(12);

class FrozenCapturesTest : public testing::Test {
protected:
    FrozenCapturesTest() { fs::create_directories(dir); }

    // A capture from `begin` to `end` minutes after noon; half-written where it is still recorded.
    std::string capture(int begin, int end, std::size_t bytes = 100, bool partial = false) {
        const auto name = compact_time(kNoon + minutes(begin)) + ".perf.data" + (partial ? ".partial" : "");
        test::spill(dir + "/" + name, std::string(bytes, static_cast<char>('a' + begin % 26)));
        set_time(dir + "/" + name, kNoon + minutes(end));
        return name;
    }
    static void set_time(const std::string& path, WallTime time) {
        const timespec at{.tv_sec = time.time_since_epoch().count() / 1'000'000'000, .tv_nsec = 0};
        const timespec both[2] = {at, at};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, 0), 0);
    }
    static FreezeOrder order(int from, int to, std::string rule = {}) {
        return {.from = kNoon + minutes(from),
                .to = kNoon + minutes(to),
                .rule = std::move(rule),
                .label = "slow \"login\"\n",
                .who = "uid 7, pid 8"};
    }
    static std::vector<std::string> names(const Frozen& frozen) {
        std::vector<std::string> all;
        for (const auto& file : frozen.files) all.push_back(file.name);
        return all;
    }
    std::vector<std::string> ids(const FrozenCaptures& captures) const {
        std::vector<std::string> all;
        for (const auto& one : *captures.list()) all.push_back(one.id);
        return all;
    }

    test::TempFolder folder;
    std::string dir = folder / "captures";
};

TEST_F(FrozenCapturesTest, KeepsWhatTellsOfThatTime) {
    capture(0, 10);
    const auto second = capture(10, 20);
    const auto third = capture(20, 30);
    const auto at_hand = capture(30, 31, 50, true);
    FrozenCaptures captures(dir);
    captures.open();
    const auto frozen = captures.freeze(order(15, 32));
    ASSERT_TRUE(frozen) << frozen.error().message;
    EXPECT_EQ(frozen->id, "20260131T123200Z");
    EXPECT_THAT(names(*frozen), ElementsAre(second, third, at_hand));
    EXPECT_EQ(frozen->bytes(), 250U);
    EXPECT_EQ(captures.bytes(), 250U);
    // Names of the same files: they outlive the rotation's.
    for (const auto& entry : list_captures(dir)) fs::remove(entry.path);
    EXPECT_EQ(test::slurp(captures.folder_of(frozen->id) + "/" + second), std::string(100, 'k'));
}

TEST_F(FrozenCapturesTest, SaysFromWhenOnThereIsSomething) {
    capture(10, 20);
    FrozenCaptures captures(dir);
    EXPECT_EQ(captures.freeze(order(0, 20))->order.from, kNoon + minutes(10));
    EXPECT_EQ(captures.freeze(order(12, 20))->order.from, kNoon + minutes(12));
    const auto none = captures.freeze(order(0, 9));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(none.error().message, HasSubstr("no capture of that time is there"));
    EXPECT_EQ(captures.list()->size(), 2U);
}

TEST_F(FrozenCapturesTest, TheFileAtHandGetsItsNameWhenItIsWhole) {
    const auto partial = capture(0, 5, 10, true);
    FrozenCaptures captures(dir);
    const auto frozen = captures.freeze(order(0, 5));
    ASSERT_TRUE(frozen);
    EXPECT_THAT(names(*frozen), ElementsAre(partial));
    std::ofstream(dir + "/" + partial, std::ios::app) << "more";
    const auto whole = partial.substr(0, partial.size() - std::string(".partial").size());
    fs::rename(dir + "/" + partial, dir + "/" + whole);
    captures.on_file_ended();
    EXPECT_THAT(names(captures.list()->front()), ElementsAre(whole));
    EXPECT_EQ(captures.bytes(), 14U);
}

TEST_F(FrozenCapturesTest, BytesCountOnce) {
    capture(0, 10);
    capture(10, 20);
    FrozenCaptures captures(dir);
    ASSERT_TRUE(captures.freeze(order(0, 20)));
    ASSERT_TRUE(captures.freeze(order(11, 20)));
    EXPECT_EQ(captures.bytes(), 200U);
    ASSERT_TRUE(captures.thaw("20260131T122000Z"));
    EXPECT_THAT(ids(captures), ElementsAre("20260131T122000Z-2"));
    EXPECT_EQ(captures.bytes(), 100U);
    EXPECT_TRUE(fs::exists(dir + "/20260131T120000Z.perf.data")) << "the rotation's own name stays";
}

TEST_F(FrozenCapturesTest, OverTheBudgetRulesMakeRoomAndPersonsDoNot) {
    capture(0, 10);
    capture(11, 20);
    capture(21, 30);
    capture(31, 40);
    FrozenCaptures captures(dir);
    captures.set_budget(250);
    ASSERT_TRUE(captures.freeze(order(1, 9, "busy")));
    ASSERT_TRUE(captures.freeze(order(12, 19)));
    ASSERT_TRUE(captures.freeze(order(22, 29, "busy"))) << "takes the place of the older rule's";
    EXPECT_THAT(ids(captures), ElementsAre("20260131T121900Z", "20260131T122900Z-busy"));
    ASSERT_TRUE(captures.freeze(order(32, 39)));
    EXPECT_THAT(ids(captures), ElementsAre("20260131T121900Z", "20260131T123900Z"));
    const auto refused = captures.freeze(order(1, 9, "busy"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
    EXPECT_THAT(refused.error().message, HasSubstr("captures.frozen"));
    EXPECT_THAT(ids(captures), ElementsAre("20260131T121900Z", "20260131T123900Z"));
    ASSERT_TRUE(captures.freeze(order(12, 19, "busy"))) << "what is frozen already costs nothing more";
    EXPECT_EQ(captures.bytes(), 200U);
}

TEST_F(FrozenCapturesTest, IsReadBackAtTheNextStart) {
    capture(0, 10);
    auto asked = order(0, 10, "busy");
    asked.evidence = Evidence{.text = "98 % for 60 s", .value = 0.98, .limit = 0.95, .held = std::chrono::seconds(60)};
    {
        FrozenCaptures captures(dir);
        ASSERT_TRUE(captures.freeze(asked));
        captures.note_capture("20260131T121000Z-busy", "complete; 7 samples");
    }
    fs::create_directories(dir + "/frozen/20260131T130000Z");  // of a daemon that was killed halfway
    test::spill(dir + "/frozen/20260131T130000Z/x.perf.data", "x");
    fs::create_directories(dir + "/frozen/20260131T140000Z");
    test::spill(dir + "/frozen/20260131T140000Z/freeze.json", "{");
    fs::create_directories(dir + "/frozen/notes");
    FrozenCaptures captures(dir);
    captures.open();
    ASSERT_THAT(ids(captures), ElementsAre("20260131T121000Z-busy"));
    const auto& back = captures.list()->front();
    EXPECT_EQ(back.order.rule, "busy");
    EXPECT_EQ(back.order.label, asked.label);
    EXPECT_EQ(back.order.who, asked.who);
    EXPECT_EQ(back.order.from, asked.from);
    EXPECT_EQ(back.order.to, asked.to);
    EXPECT_EQ(back.order.evidence, asked.evidence);
    EXPECT_EQ(back.captured, "complete; 7 samples");
    EXPECT_EQ(captures.bytes(), 100U);
    EXPECT_FALSE(fs::exists(dir + "/frozen/20260131T130000Z")) << "there was no freeze yet";
    EXPECT_TRUE(fs::exists(dir + "/frozen/20260131T140000Z")) << "what cannot be read is not ours to remove";
    EXPECT_TRUE(fs::exists(dir + "/frozen/notes"));
}

TEST_F(FrozenCapturesTest, WhatIsNotFrozenCannotBeThawed) {
    FrozenCaptures captures(dir);
    const auto thawed = captures.thaw("20260131T121000Z");
    ASSERT_FALSE(thawed);
    EXPECT_EQ(thawed.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(ids(captures), IsEmpty());
}

TEST(FrozenIdTest, HasOneForm) {
    for (const auto* id : {"20260131T121000Z", "20260131T121000Z-2", "20260131T121000Z-cpu_busy-2"}) {
        EXPECT_TRUE(is_frozen_id(id)) << id;
    }
    for (const auto* id : {"", "x", "20260131T121000", "20260131T121000Z/..", "20260131T121000Z-a.b", "../x",
                           "20261331T121000Z", "20260131T251000Z"}) {
        EXPECT_FALSE(is_frozen_id(id)) << id;
    }
}

TEST(FrozenJsonTest, RefusesWhatItDidNotWrite) {
    for (const auto* text : {"", "[]", "{}", R"({"id":"20260131T121000Z"})", R"({"id":"../x","start":"2026-01-31"})"}) {
        EXPECT_FALSE(parse_frozen(text)) << text;
    }
}

}  // namespace
}  // namespace perfvigil::daemon
