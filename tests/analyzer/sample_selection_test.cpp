// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/sample_selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

using Unit = TimeRange::Unit;

TimeRange range_of(std::string_view text) {
    const auto range = parse_time_range(text);
    if (!range) ADD_FAILURE() << range.error().message;
    return range.value_or(TimeRange{});
}

TEST(TimeRange, IsReadInSecondsAndPercent) {
    EXPECT_EQ(range_of("10s..20s"), (TimeRange{Unit::kSeconds, 10, 20}));
    EXPECT_EQ(range_of("10..20"), (TimeRange{Unit::kSeconds, 10, 20}));
    EXPECT_EQ(range_of("500ms..1.5s"), (TimeRange{Unit::kSeconds, 0.5, 1.5}));
    EXPECT_EQ(range_of("1m..2m"), (TimeRange{Unit::kSeconds, 60, 120}));
    EXPECT_EQ(range_of("0..250us"), (TimeRange{Unit::kSeconds, 0, 250e-6}));
    EXPECT_EQ(range_of("5%..50%"), (TimeRange{Unit::kPercent, 5, 50}));
    EXPECT_EQ(range_of(" 5 % .. 100% "), (TimeRange{Unit::kPercent, 5, 100}));
}

TEST(TimeRange, MayBeOpenAtEitherEnd) {
    EXPECT_EQ(range_of("3s.."), (TimeRange{Unit::kSeconds, 3, std::nullopt}));
    EXPECT_EQ(range_of("..20s"), (TimeRange{Unit::kSeconds, 0, 20}));
    EXPECT_EQ(range_of("..50%"), (TimeRange{Unit::kPercent, 0, 50}));
}

TEST(TimeRange, ThatIsNoneIsSaid) {
    for (const std::string_view text : {"", "..", "10s", "10s..5s", "5s..5s", "10s..20%", "a..b", "-1s..2s", "0%..101%",
                                        "1s..2h", "nan..2", "0..inf", "1..2..3", "0..1e30"}) {
        const auto range = parse_time_range(text);
        ASSERT_FALSE(range) << text;
        EXPECT_THAT(range.error().message, testing::HasSubstr("is no time range")) << text;
    }
    EXPECT_THAT(parse_time_range("\x1b[2J").error().message, testing::HasSubstr("\\x1b[2J"));
}

TEST(CgroupSelection, OfAPathAndWhatLiesBelow) {
    const CgroupSelection path{.path = "/system.slice/x.service"};
    for (const auto* inside : {"/system.slice/x.service", "/system.slice/x.service/a/b"}) {
        EXPECT_TRUE(path.takes(inside)) << inside;
    }
    for (const auto* outside : {"", "/", "/system.slice", "/system.slice/x.services", "/a/system.slice/x.service"}) {
        EXPECT_FALSE(path.takes(outside)) << outside;
    }
}

TEST(CgroupSelection, OfAUnitWhereverItLies) {
    const CgroupSelection unit{.unit = "x.service"};
    for (const auto* inside : {"/x.service", "/system.slice/x.service", "/user.slice/u/x.service/y.scope"}) {
        EXPECT_TRUE(unit.takes(inside)) << inside;
    }
    for (const auto* outside : {"", "/", "/system.slice/ax.service", "/x.service.d"}) {
        EXPECT_FALSE(unit.takes(outside)) << outside;
    }
    EXPECT_EQ((SampleSelection{.pids = {Pid{7}}, .cgroup = unit}.text()), "--pid 7 --unit x.service");
    EXPECT_TRUE(SampleSelection{.cgroup = unit}.selects());
}

TEST(SampleSelection, ReadsAsOnTheCommandLine) {
    EXPECT_EQ(SampleSelection{}.text(), "");
    EXPECT_EQ((SampleSelection{.by_pid = true}.text()), "");
    const SampleSelection all{.time = TimeRange{Unit::kPercent, 5, 50},
                              .cpus = {CpuId{0}, CpuId{3}},
                              .pids = {Pid{7}},
                              .tids = {Tid{8}, Tid{9}}};
    EXPECT_EQ(all.text(), "--time 5%..50% --cpu 0,3 --pid 7 --tid 8,9");
    EXPECT_EQ((SampleSelection{.time = TimeRange{Unit::kSeconds, 1.5, std::nullopt}}.text()), "--time 1.5s..");
    EXPECT_EQ(range_of("0.1s..0.3s"), range_of(to_text(range_of("100ms..300ms"))));
}

}  // namespace
}  // namespace perfvigil::analyzer
