// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/overhead.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

namespace perfvigil::daemon {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::map<pid_t, Nanoseconds> cpu_times;
Nanoseconds fake_time(pid_t pid) {
    const auto found = cpu_times.find(pid);
    return found == cpu_times.end() ? Nanoseconds{} : found->second;
}

TEST(Overhead, ProcessesAndSamplesAreCountedApart) {
    OverheadMeter meter({.value = microseconds(12)}, fake_time);
    cpu_times = {{::getpid(), milliseconds(300)}, {77, milliseconds(50)}};
    const OverheadNumbers numbers = meter.measure(77, 1000);
    EXPECT_EQ(numbers.processes, milliseconds(350));
    EXPECT_EQ(numbers.sampling, milliseconds(12));
    EXPECT_EQ(numbers.cost_per_sample, microseconds(12));
    EXPECT_FALSE(numbers.cost_assumed);
    EXPECT_TRUE(OverheadMeter(collector::assumed_sample_cost("x"), fake_time).measure(0, 1).cost_assumed);
}

TEST(Overhead, AChildThatEndsOrIsReplacedTakesNothingBack) {
    OverheadMeter meter({.value = microseconds(12)}, fake_time);
    const pid_t self = ::getpid();
    cpu_times = {{self, milliseconds(100)}, {77, milliseconds(50)}};
    EXPECT_EQ(meter.measure(77, 0).processes, milliseconds(150));
    cpu_times = {{self, milliseconds(100)}};  // it died
    EXPECT_EQ(meter.measure(77, 0).processes, milliseconds(150));
    EXPECT_EQ(meter.measure(0, 0).processes, milliseconds(150));
    cpu_times[78] = milliseconds(7);
    EXPECT_EQ(meter.measure(78, 0).processes, milliseconds(157));
    cpu_times = {{self, milliseconds(110)}, {78, milliseconds(9)}};
    EXPECT_EQ(meter.measure(78, 0).processes, milliseconds(169));
}

TEST(Overhead, CpuTimeIsTheProcesss) {
    const Nanoseconds before = cpu_time_of(::getpid());
    volatile unsigned sum = 0;
    while (cpu_time_of(::getpid()) - before < milliseconds(5)) {
        for (unsigned i = 0; i < 10000; ++i) sum = sum + i;
    }
    EXPECT_GT(cpu_time_of(::getpid()), before);
    EXPECT_EQ(cpu_time_of(0x7ffffff), Nanoseconds{}) << "nobody";
}

TEST(Overhead, BudgetIsTheShareOfTheHostSinceTheLastLook) {
    CpuBudget budget;
    const auto at = [](int second) { return MonotonicTime(seconds(second)); };
    const auto spent = [](int processes_ms, int sampling_ms) {
        return OverheadNumbers{.processes = milliseconds(processes_ms), .sampling = milliseconds(sampling_ms)};
    };
    EXPECT_EQ(budget.use(spent(1000, 500), 2, at(100)).all(), 0) << "nothing to compare with";
    EXPECT_DOUBLE_EQ(budget.use(spent(1040, 560), 2, at(105)).all(), 0.01);
    EXPECT_DOUBLE_EQ(budget.use(spent(1040, 560), 2, at(110)).all(), 0);
    EXPECT_EQ(budget.use(spent(1050, 560), 2, at(110)).all(), 0) << "no time has passed";
    EXPECT_EQ(budget.use(spent(1060, 560), 0, at(115)).all(), 0) << "no CPUs";
    EXPECT_DOUBLE_EQ(budget.use(spent(1160, 560), 1, at(120)).all(), 0.02);
    const auto parts = budget.use(spent(1260, 610), 1, at(130));
    EXPECT_DOUBLE_EQ(parts.processes, 0.01);
    EXPECT_DOUBLE_EQ(parts.sampling, 0.005);
}

}  // namespace
}  // namespace perfvigil::daemon
