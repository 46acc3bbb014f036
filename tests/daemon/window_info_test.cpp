// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/window_info.hpp"

#include <gtest/gtest.h>

#include "daemon/store_index.hpp"
#include "tests/support/daemon_profile.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::seconds;

analyzer::ProfileCpu cpu(Nanoseconds enabled, double busy, bool known = true) {
    analyzer::ProfileCpu made;
    made.sum.enabled = enabled;
    made.busy.ratio = busy;
    made.busy.known = known;
    return made;
}

TEST(WindowInfoTest, SaysHowBusyTheKnownCpusWere) {
    auto profile = test::small_profile("20260131T120500Z", 1000);
    EXPECT_EQ(describe(profile, 1).recorded, Nanoseconds{});
    profile.cpus = {cpu(seconds(60), 0.25), cpu(seconds(30), 0.5), cpu(seconds(60), 1, false)};
    const auto info = describe(profile, 1);
    EXPECT_EQ(info.recorded, seconds(90));
    EXPECT_EQ(info.busy, seconds(30));
}

TEST(WindowInfoTest, TheIndexKeepsAll) {
    const test::TempFolder folder;
    auto index = StoreIndex::open(folder / "index.sqlite");
    ASSERT_TRUE(index) << index.error().message;
    const WindowInfo info{.id = "20260131T121000Z-r",
                          .start = WallTime(seconds(400)),
                          .end = WallTime(seconds(1000)),
                          .duration = seconds(600),
                          .samples = 7,
                          .lost = 1,
                          .bytes = 99,
                          .partial = true,
                          .parts = "a b",
                          .recorded = seconds(1200),
                          .busy = seconds(12)};
    ASSERT_TRUE(index->insert(info));
    const auto all = index->all();
    ASSERT_TRUE(all) << all.error().message;
    ASSERT_EQ(all->size(), 1U);
    EXPECT_EQ(all->front(), info);
}

}  // namespace
}  // namespace perfvigil::daemon
