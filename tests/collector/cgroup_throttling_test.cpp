// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/cgroup_throttling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

std::string stat(std::uint64_t periods, std::uint64_t throttled, std::uint64_t micros) {
    return "usage_usec 123\nuser_usec 1\nsystem_usec 2\nnr_periods " + std::to_string(periods) + "\nnr_throttled " +
           std::to_string(throttled) + "\nthrottled_usec " + std::to_string(micros) + "\nnr_bursts 0\n";
}

class Throttling : public testing::Test {
protected:
    void group(const std::string& path, const std::string& limit, const std::string& counters) const {
        root.write(path + "/cpu.max", limit);
        root.write(path + "/cpu.stat", counters);
    }
    std::vector<CgroupThrottled> read(int second) { return throttling.read(MonotonicTime(seconds(second))); }
    test::TempFolder root;
    CgroupThrottling throttling{CgroupMount{root.path(), "/"}};
};

TEST(CpuStat, OfBothHierarchies) {
    const auto v2 = parse_cpu_stat(stat(10, 4, 2500)).value();
    EXPECT_EQ(v2.periods, 10U);
    EXPECT_EQ(v2.throttled_periods, 4U);
    EXPECT_EQ(v2.throttled, std::chrono::microseconds(2500));
    const auto v1 = parse_cpu_stat("nr_periods 7\nnr_throttled 3\nthrottled_time 5000000\n").value();
    EXPECT_EQ(v1.throttled, milliseconds(5));
    EXPECT_FALSE(parse_cpu_stat("usage_usec 5\n")) << "the controller is off";
    EXPECT_FALSE(parse_cpu_stat(""));
    EXPECT_FALSE(parse_cpu_stat("nr_throttled x\n"));
}

TEST_F(Throttling, CountsFromTheFirstLookOn) {
    group("system.slice/a.service", "20000 100000\n", stat(1000, 900, 5'000'000));
    group("system.slice/free.service", "max 100000\n", stat(0, 0, 0));
    EXPECT_THAT(read(0), IsEmpty()) << "what was before is not ours";
    group("system.slice/a.service", "20000 100000\n", stat(1050, 940, 8'000'000));
    const auto rows = read(5);
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].path, "/system.slice/a.service");
    EXPECT_EQ(rows[0].periods, 50U);
    EXPECT_EQ(rows[0].throttled_periods, 40U);
    EXPECT_EQ(rows[0].throttled, seconds(3));
    EXPECT_THAT(read(10), IsEmpty()) << "it did not run";
}

TEST_F(Throttling, NewcomersCountWholeAndThoseWhoLeaveAreForgotten) {
    EXPECT_THAT(read(0), IsEmpty());
    group("b.service", "1000 100000\n", stat(30, 20, 10));
    EXPECT_THAT(read(10), IsEmpty()) << "not looked for yet";
    EXPECT_THAT(read(31), SizeIs(1));
    std::filesystem::remove_all(root.path() / "b.service");
    EXPECT_THAT(read(40), IsEmpty());
    EXPECT_THAT(read(62), IsEmpty());
    group("b.service", "1000 100000\n", stat(5, 5, 1));
    const auto rows = read(93);
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].throttled_periods, 5U);
}

TEST_F(Throttling, ACgroupMadeAnewUnderItsNameTakesNothingBack) {
    group("c.service", "1000 100000\n", stat(100, 50, 1000));
    (void)read(0);
    group("c.service", "1000 100000\n", stat(3, 2, 7));
    const auto rows = read(5);
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].periods, 3U);
    EXPECT_EQ(rows[0].throttled_periods, 2U);
}

TEST_F(Throttling, TheOldHierarchyToo) {
    root.write("d.service/cpu.cfs_quota_us", "20000\n");
    root.write("d.service/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 5000000\n");
    root.write("e.service/cpu.cfs_quota_us", "-1\n");
    root.write("e.service/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 5000000\n");
    (void)read(0);
    root.write("d.service/cpu.stat", "nr_periods 9\nnr_throttled 5\nthrottled_time 9000000\n");
    root.write("e.service/cpu.stat", "nr_periods 9\nnr_throttled 5\nthrottled_time 9000000\n");
    const auto rows = read(5);
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].path, "/d.service");
    EXPECT_EQ(rows[0].throttled, milliseconds(4));
}

TEST(ThrottlingMount, NothingWithoutAController) {
    CgroupThrottling none(std::nullopt);
    EXPECT_THAT(none.read(MonotonicTime(seconds(1))), IsEmpty());
}

}  // namespace
}  // namespace perfvigil::collector
