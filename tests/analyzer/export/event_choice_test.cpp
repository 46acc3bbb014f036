// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/event_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/export_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(EventChoice, TheFirstWithBusySamples) {
    auto profile = test::export_profile();
    auto choice = choose_event(profile, {});
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->event, 0U);
    EXPECT_THAT(choice->others, ElementsAre("cycles"));
    profile.events[0].idle_samples = profile.events[0].samples;  // all idle
    choice = choose_event(profile, {});
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->event, 1U);
    EXPECT_THAT(choice->others, ElementsAre("cpu-clock"));
    profile.events[1].samples = 0;  // only idle ones are left
    choice = choose_event(profile, {});
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->event, 0U);
    EXPECT_THAT(choice->others, IsEmpty());
}

TEST(EventChoice, TheNamedOneEvenWithoutSamples) {
    const auto profile = test::export_profile();
    EXPECT_EQ(choose_event(profile, "cycles")->event, 1U);
    EXPECT_EQ(choose_event(profile, "page-faults")->event, 2U);
    const auto unknown = choose_event(profile, "branches\n");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, HasSubstr("branches\\x0a"));
    EXPECT_THAT(unknown.error().message, HasSubstr("cpu-clock, cycles, page-faults"));
}

TEST(EventChoice, OfTwoEventsOfOneNameTheOneWithSamples) {
    auto profile = test::export_profile();
    profile.events[2] = profile.events[1];
    profile.events[1].samples = 0;
    EXPECT_EQ(choose_event(profile, "cycles")->event, 2U);
}

TEST(EventChoice, NothingToExportIsSaid) {
    Profile profile;
    profile.id = "perf.data";
    EXPECT_EQ(choose_event(profile, {}).error().message, "perf.data holds no samples to export");
}

TEST(EventChoice, TheSentenceSaysWhatOfTheWhole) {
    auto profile = test::export_profile();
    EXPECT_EQ(event_text(profile, 0, IdleRows::kExclude), "cpu-clock: 50 ns, 5 samples");
    EXPECT_EQ(event_text(profile, 0, IdleRows::kInclude), "cpu-clock: 100 ns, 10 samples, idle ones included");
    profile.filter = "--comm web";
    profile.events[0].whole_weight = 400;
    EXPECT_EQ(event_text(profile, 0, IdleRows::kExclude),
              "cpu-clock: 50 ns, 5 samples; 25.00 % of the event (--comm web)");
}

}  // namespace
}  // namespace perfvigil::analyzer
