// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/tickless.hpp"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

TEST(Tickless, TheKernelsListAsItIs) {
    test::TempFolder root;
    EXPECT_EQ(tickless_cpus(root.path()), "") << "a kernel without CONFIG_NO_HZ_FULL";
    for (const auto& [text, list] : {std::pair("2-7,9\n", "2-7,9"), std::pair("\n", ""), std::pair("(null)\n", "")}) {
        root.write("sys/devices/system/cpu/nohz_full", text);
        EXPECT_EQ(tickless_cpus(root.path()), list);
    }
}

TEST(Tickless, EventsOfTheHardwareAreLeftOutThere) {
    const std::vector<EventSpec> both = RecordingOptions{}.events;
    EXPECT_EQ(events_that_keep_ticks_off(both, "").size(), 2U);
    const auto kept = events_that_keep_ticks_off(both, "1");
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].name, "cpu-clock");
    EXPECT_EQ(events_that_keep_ticks_off({both[0]}, "1").size(), 1U) << "rather a tick than no recording";
    const auto said = ticks_kept_off(both, "2-7");
    EXPECT_EQ(said.reason, "nohz_full");
    EXPECT_NE(said.detail.find("CPUs 2-7 are tickless"), std::string::npos);
    EXPECT_NE(said.detail.find("cycles would turn"), std::string::npos) << said.detail;
}

}  // namespace
}  // namespace perfvigil::collector
