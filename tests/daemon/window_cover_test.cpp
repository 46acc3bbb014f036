// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/window_cover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_text.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

WallTime at(int minute) { return WallTime(minutes(minute)); }

class CoverTest : public testing::Test {
protected:
    // Minutes `from`..`to` as one profile.
    void add(int from, int to, WindowKind kind = WindowKind::kWindow, const std::string& parts = {}) {
        WindowInfo info{.id = id(to, kind), .start = at(from), .end = at(to), .duration = minutes(to - from)};
        info.parts = parts;
        catalog.push_back(std::make_shared<Window>(Window{std::move(info), nullptr}));
    }
    static std::string id(int to, WindowKind kind = WindowKind::kWindow) {
        return id_of_kind(compact_time(at(to)), kind);
    }
    // Windows of a minute, and a roll-up of them.
    void add_rolled_up(int from, int to) {
        std::string parts;
        for (int minute = from; minute < to; ++minute) {
            add(minute, minute + 1);
            parts += (parts.empty() ? "" : " ") + id(minute + 1);
        }
        add(from, to, WindowKind::kRollup, parts);
    }
    std::vector<std::string> chosen(int since, int until) const {
        std::vector<std::string> ids;
        for (const auto& window : cover(catalog, at(since), at(until))) ids.push_back(window->info.id);
        return ids;
    }
    void lose(const std::string& lost) {
        std::erase_if(catalog, [&](const auto& window) { return window->info.id == lost; });
    }

    Catalog catalog;
};

TEST_F(CoverTest, WindowsByThemselves) {
    for (int minute = 0; minute < 5; ++minute) add(minute, minute + 1);
    EXPECT_THAT(chosen(1, 3), ElementsAre(id(2), id(3)));
    EXPECT_THAT(chosen(4, 100), ElementsAre(id(5)));
    EXPECT_THAT(chosen(5, 100), IsEmpty());
    EXPECT_THAT(chosen(-10, 0), IsEmpty());
    EXPECT_EQ(latest_window(catalog)->info.id, id(5));
    EXPECT_EQ(latest_window({}), nullptr);
}

TEST_F(CoverTest, ARollupStandsForItsWindows) {
    add_rolled_up(0, 10);
    add(10, 11);
    EXPECT_THAT(chosen(0, 11), ElementsAre(id(10, WindowKind::kRollup), id(11)));
    EXPECT_THAT(chosen(7, 11), ElementsAre(id(8), id(9), id(10), id(11)));
    EXPECT_EQ(latest_window(catalog)->info.id, id(11));
    lose(id(11));
    EXPECT_EQ(latest_window(catalog)->info.id, id(10)) << "not the roll-up that ends with it";
}

TEST_F(CoverTest, ThreeLevels) {
    add_rolled_up(0, 10);
    add_rolled_up(10, 20);
    add(0, 20, WindowKind::kArchive, id(10, WindowKind::kRollup) + " " + id(20, WindowKind::kRollup));
    EXPECT_THAT(chosen(-5, 50), ElementsAre(id(20, WindowKind::kArchive)));
    EXPECT_THAT(chosen(0, 12), ElementsAre(id(10, WindowKind::kRollup), id(11), id(12)));
}

TEST_F(CoverTest, WithoutItsPartsTheEdgeIsItsOwn) {
    add_rolled_up(0, 10);
    add(10, 20, WindowKind::kRollup, "20000101T000000Z");
    lose(id(3));
    EXPECT_THAT(chosen(4, 20), ElementsAre(id(10, WindowKind::kRollup), id(20, WindowKind::kRollup)));
    EXPECT_THAT(chosen(6, 20), ElementsAre(id(20, WindowKind::kRollup))) << "less than half of the first one";
    EXPECT_THAT(chosen(0, 16), ElementsAre(id(10, WindowKind::kRollup), id(20, WindowKind::kRollup)));
    EXPECT_THAT(chosen(0, 15), ElementsAre(id(10, WindowKind::kRollup)));
}

// Whatever is asked and whatever is gone, no minute is told twice, and none that was kept and asked for is left out.
TEST_F(CoverTest, EachMinuteOnce) {
    for (int start = 0; start < 60; start += 10) add_rolled_up(start, start + 10);
    std::string parts;
    for (int end = 10; end <= 60; end += 10) parts += (parts.empty() ? "" : " ") + id(end, WindowKind::kRollup);
    add(0, 60, WindowKind::kArchive, parts);
    for (int since = 0; since < 60; ++since) {
        for (int until = since + 1; until <= 60; ++until) {
            int minute = since;
            for (const auto& window : cover(catalog, at(since), at(until))) {
                EXPECT_EQ(window->info.start, at(minute));
                minute += static_cast<int>(window->info.duration / minutes(1));
            }
            EXPECT_EQ(minute, until);
        }
    }
}

TEST(WindowIdTest, TellsItsKind) {
    const auto kind = [](const std::string& id) { return WindowInfo{.id = id}.kind(); };
    EXPECT_EQ(kind("20260131T120500Z"), WindowKind::kWindow);
    EXPECT_EQ(kind("20260131T120500Z-2"), WindowKind::kWindow);
    EXPECT_EQ(kind("20260131T121000Z-r"), WindowKind::kRollup);
    EXPECT_EQ(kind("20260131T121000Z-r-12"), WindowKind::kRollup);
    EXPECT_EQ(kind("20260131T130000Z-a"), WindowKind::kArchive);
    for (const auto* good : {"20260131T121000Z-r", "20260131T121000Z-a-3"}) EXPECT_TRUE(is_window_id(good));
    for (const auto* bad :
         {"20260131T121000Z-b", "20260131T121000Z-r2", "20260131T121000Z-rr", "20260131T121000Z-r-"}) {
        EXPECT_FALSE(is_window_id(bad)) << bad;
    }
}

}  // namespace
}  // namespace perfvigil::daemon
