// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/waits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WaitsTest : public testing::Test {
protected:
    void delays(std::uint64_t first, std::uint64_t second) const {
        root.write("schedstat", "version 15\ncpu0 0 0 0 0 0 0 1 " + std::to_string(first) + " 1\ncpu1 0 0 0 0 0 0 1 " +
                                    std::to_string(second) + " 1\n");
    }
    void unit(const std::string& name, std::uint64_t periods, std::uint64_t throttled, std::uint64_t micros) const {
        const auto folder = "cgroup/system.slice/" + name + "/";
        root.write(folder + "cpu.max", "20000 100000\n");
        root.write(folder + "cpu.stat", "nr_periods " + std::to_string(periods) + "\nnr_throttled " +
                                            std::to_string(throttled) + "\nthrottled_usec " + std::to_string(micros) +
                                            "\n");
    }
    void look() { waits.look(now += seconds(5)); }
    static analyzer::Profile profile() {
        analyzer::Profile made;
        made.cpus.resize(2);
        made.cpus[0].sum.cpu = CpuId{0};
        made.cpus[1].sum.cpu = CpuId{1};
        return made;
    }

    test::TempFolder root;
    MonotonicTime now{seconds(100)};
    Waits waits{collector::CgroupMount{root / "cgroup", "/"}, root / "schedstat"};
};

TEST_F(WaitsTest, RunDelaysOfEachWindowAndSinceTheStart) {
    delays(1000, 50);
    look();
    delays(1700, 50);
    look();
    delays(2000, 90);
    look();
    auto first = profile();
    waits.close_window(first);
    EXPECT_EQ(first.cpus[0].run_delay_ns, 1000U);
    EXPECT_EQ(first.cpus[1].run_delay_ns, 40U);
    delays(2001, 90);
    look();
    auto second = profile();
    waits.close_window(second);
    EXPECT_EQ(second.cpus[0].run_delay_ns, 1U);
    EXPECT_THAT(waits.run_delays(), ElementsAre(collector::RunDelay{CpuId{0}, Nanoseconds(1001)},
                                                collector::RunDelay{CpuId{1}, Nanoseconds(40)}));
}

TEST_F(WaitsTest, UnitsOfTheLastLookAndNotesOfTheWindow) {
    unit("db.service", 0, 0, 0);
    unit("rare.service", 0, 0, 0);
    look();
    unit("db.service", 50, 30, 2'000'000);
    unit("rare.service", 100, 2, 1000);
    look();
    ASSERT_THAT(waits.throttled_units(), SizeIs(2));
    EXPECT_EQ(waits.throttled_units()[0].unit, "db.service");
    EXPECT_EQ(waits.throttled_units()[0].throttled, seconds(2));
    unit("db.service", 100, 80, 5'000'000);
    look();
    ASSERT_THAT(waits.throttled_units(), SizeIs(1));
    EXPECT_EQ(waits.throttled_units()[0].throttled_periods, 50U);
    auto window = profile();
    waits.close_window(window);
    ASSERT_THAT(window.notes, SizeIs(1)) << "two of a hundred periods are no matter";
    EXPECT_THAT(window.notes[0],
                HasSubstr("db.service was stopped by its own CPU limit in 80 of the 100 periods in which "
                          "it ran, for 5.000 s"));
    auto next = profile();
    waits.close_window(next);
    EXPECT_THAT(next.notes, IsEmpty());
}

TEST(WaitsUnknown, SayNothing) {
    auto waits = Waits::unknown();
    waits.look(MonotonicTime(seconds(1)));
    EXPECT_THAT(waits.throttled_units(), IsEmpty());
    EXPECT_THAT(waits.run_delays(), IsEmpty());
}

}  // namespace
}  // namespace perfvigil::daemon
