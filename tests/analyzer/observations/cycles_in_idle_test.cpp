// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using test::figure;
using test::ObservedProfile;
using testing::HasSubstr;

void add_cpu(ObservedProfile& p, std::uint64_t busy, double counted_hertz) {
    auto& sum = p.cpu(busy).sum;
    sum.cycles_recorded = true;
    sum.cycles_counted = static_cast<std::uint64_t>(counted_hertz * to_seconds(sum.enabled));
}

TEST(CyclesInIdle, ABusyCpuBesideOneThatOnlyCounts) {
    ObservedProfile p;
    add_cpu(p, 1000, 1e9);
    add_cpu(p, 10, 1e9);
    const auto found = p.find("cycles_in_idle");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("CPU 1 counted 1.00 billion cycles a second and was busy at most 2."));
    EXPECT_THAT(found.meaning, HasSubstr("Cycles count in idle here: polling idle or emulation."));
    EXPECT_THAT(found.remedy, HasSubstr("Take busy from cpu-clock."));
    EXPECT_NEAR(figure(found, "counted_hertz", "cpu 1"), 1e9, 10);
    EXPECT_EQ(figure(found, "cpus"), 1);
    EXPECT_TRUE(std::isnan(figure(found, "counted_hertz", "cpu 0"))) << "nothing is known of a full CPU's idle";
    EXPECT_NEAR(found.at_least, 0.4, 0.05) << "of both CPUs' cycles";
}

TEST(CyclesInIdle, SaysHowManyDoSo) {
    ObservedProfile p;
    for (int i = 0; i < 12; ++i) add_cpu(p, 5, 2e9 + 1e7 * i);
    const auto found = p.find("cycles_in_idle");
    EXPECT_THAT(found.evidence, HasSubstr("CPU 11 counted 2.11 billion"));
    EXPECT_THAT(found.evidence, HasSubstr("; so did 11 other CPUs in their idle time."));
    EXPECT_FALSE(std::isnan(figure(found, "idle_hertz_low", "cpu 11")));
    EXPECT_TRUE(std::isnan(figure(found, "idle_hertz_low", "cpu 0"))) << "only the first eight are listed";
}

TEST(CyclesInIdle, OfAWorkingCpuByItsSamples) {
    ObservedProfile p;
    add_cpu(p, 333, 1e9);
    auto& sum = p.profile.cpus.back().sum;
    sum.cycles_samples = 990;
    sum.cycles_sampled = sum.cycles_counted;
    EXPECT_FALSE(p.fires("cycles_in_idle"));
    sum.cycles_idle = sum.cycles_counted / 3 * 2;
    const auto found = p.find("cycles_in_idle");
    EXPECT_THAT(found.evidence, HasSubstr("CPU 0 counted 1.00 billion cycles a second, 67 % of them in the idle loop, "
                                          "and was busy at most 3"));
    EXPECT_NEAR(found.at_least, 0.617, 0.005);
    p.profile.degraded.push_back({"idle_by_task", "", ""});
    EXPECT_FALSE(p.fires("cycles_in_idle")) << "what is taken for idle may be interrupts' work";
}

TEST(CyclesInIdle, NotWhereCyclesStopOrAreNotRecorded) {
    ObservedProfile p;
    add_cpu(p, 1000, 5e9);
    add_cpu(p, 300, 1.5e9);
    add_cpu(p, 0, 2e6);
    EXPECT_FALSE(p.fires("cycles_in_idle"));
    ObservedProfile clock_alone;
    clock_alone.cpu(3);
    EXPECT_FALSE(clock_alone.fires("cycles_in_idle"));
}

}  // namespace
}  // namespace perfvigil::analyzer
