// SPDX-License-Identifier: GPL-2.0-or-later
// Rules about how the load lay on the CPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;
using testing::Not;

TEST(CpusSaturated, NamesTheFullOnes) {
    ObservedProfile p;
    p.cpu(995);
    p.cpu(990);
    p.cpu(400);
    const auto found = p.find("cpus_saturated");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("CPUs 0 and 1 (2 of 3)"));
    EXPECT_THAT(found.meaning, Not(HasSubstr("SMT")));
    p.setting("smt", "on");
    EXPECT_THAT(p.find("cpus_saturated").meaning, HasSubstr("SMT is on"));
}

TEST(CpusSaturated, ChanceDoesNotFillACpu) {
    ObservedProfile p;
    p.cpu(955);  // 95.5 %: its interval begins at 94.0 %
    EXPECT_FALSE(p.fires("cpus_saturated"));
}

TEST(CpusSaturated, OneOfManyIsOnlyMentioned) {
    ObservedProfile p;
    p.cpu(999);
    for (int i = 0; i < 3; ++i) p.cpu(500);
    EXPECT_EQ(p.find("cpus_saturated").severity, Severity::kInfo);
}

TEST(CpusSaturated, ARecordingOfOneProgramIsNotAFullCpu) {
    ObservedProfile p;
    auto& cpu = p.cpu(1000);
    cpu.sum.time_estimated = true;
    EXPECT_FALSE(p.fires("cpus_saturated"));
    p.cpu(900).sum.time_estimated = true;
    EXPECT_TRUE(p.fires("cpus_saturated")) << "idle samples show that whole CPUs were recorded";
}

TEST(TasksWaited, WhereTheyWaitedForAFifthOfWhatTheyWanted) {
    ObservedProfile p;
    p.cpu(1000).run_delay_ns = 4'000'000'000;
    p.cpu(500);
    const auto found = p.find("tasks_waited");  // 4 s of 4 + 15.15
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("waited 4.000 s for a CPU: 21 %"));
    EXPECT_NEAR(figure(found, "waiting_tasks"), 4 / 10.1, 0.01);
    p.profile.cpus[0].run_delay_ns = 40'000'000'000;
    EXPECT_EQ(p.find("tasks_waited").severity, Severity::kWarning);
}

TEST(TasksWaited, NotOnAnIdleHostNorWhereNothingIsKnown) {
    ObservedProfile p;
    p.cpu(5).run_delay_ns = 100'000'000;  // most of what little they wanted, and of no consequence
    EXPECT_FALSE(p.fires("tasks_waited"));
    p.profile.cpus[0].run_delay_ns = 0;
    EXPECT_FALSE(p.fires("tasks_waited"));
}

TEST(UnitThrottled, WhereALimitStoppedItInATwentiethOfItsPeriods) {
    ObservedProfile p;
    p.profile.throttled_units = {{"db.service", 100, 5, std::chrono::seconds(2)},
                                 {"web.service", 1000, 49, std::chrono::seconds(1)},
                                 {"short.service", 9, 9, std::chrono::milliseconds(800)}};
    const auto found = p.find("unit_throttled");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence,
                HasSubstr("db.service was stopped by its own CPU limit in 5 of the 100 periods in which "
                          "it ran, for 2.000 s"));
    EXPECT_THAT(found.evidence, Not(HasSubstr("web.service"))) << "under a twentieth";
    EXPECT_THAT(found.evidence, Not(HasSubstr("short.service"))) << "not a second";
    EXPECT_DOUBLE_EQ(figure(found, "throttled_seconds", "db.service"), 2);
    p.profile.throttled_units[0].throttled_periods = 25;
    EXPECT_EQ(p.find("unit_throttled").severity, Severity::kWarning);
}

TEST(UnitThrottled, NamesTheLongestAndCountsTheOthers) {
    ObservedProfile p;
    for (int i = 0; i < 7; ++i) {
        p.profile.throttled_units.push_back({"u" + std::to_string(i), 10, 1, std::chrono::seconds(9 - i)});
    }
    const auto found = p.find("unit_throttled");
    EXPECT_THAT(found.evidence, HasSubstr("u4 was stopped"));
    EXPECT_THAT(found.evidence, Not(HasSubstr("u5 was")));
    EXPECT_THAT(found.evidence, HasSubstr("2 further units"));
    p.profile.throttled_units.clear();
    EXPECT_FALSE(p.fires("unit_throttled"));
}

TEST(BusyDisagrees, WhereProcStatLiesOutsideTheInterval) {
    ObservedProfile p;
    auto& cpu = p.cpu(500);
    cpu.sum.times_known = true;
    const auto all = static_cast<std::uint64_t>(cpu.sum.enabled.count());
    cpu.sum.times.user = all / 2;
    cpu.sum.times.idle = all - all / 2;
    EXPECT_FALSE(p.fires("busy_disagrees"));
    cpu.sum.times.user = all * 7 / 10;
    cpu.sum.times.idle = all - cpu.sum.times.user;
    const auto found = p.find("busy_disagrees");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("CPU 0 was 50 % busy by samples"));
    EXPECT_THAT(found.evidence, HasSubstr("70 % by /proc/stat"));
}

TEST(CpusUneven, OneFullCpuBesideEmptyOnes) {
    ObservedProfile p;
    p.cpu(50);
    p.cpu(980);
    p.cpu(80);
    const auto found = p.find("cpus_uneven");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("CPU 1 was 98 % busy (98 % user, 0.0 % kernel, 0.0 % softirq)"));
}

TEST(CpusUneven, NeedsAFullOneAndRoomBesideIt) {
    ObservedProfile p;
    p.cpu(600);
    p.cpu(50);
    EXPECT_FALSE(p.fires("cpus_uneven")) << "uneven, but nothing is at its limit";
    ObservedProfile busy;
    busy.cpu(990);
    busy.cpu(700);
    EXPECT_FALSE(busy.fires("cpus_uneven"));
    ObservedProfile single;
    single.cpu(990);
    EXPECT_FALSE(single.fires("cpus_uneven"));
}

void give_softirq(ProfileCpu& cpu, std::uint64_t ticks) {
    cpu.sum.mode_time[index_of(Mode::kSoftirq)] = Nanoseconds(ticks * ObservedProfile::kTick);
}

TEST(SoftirqOnOneCpu, FiresWhereOneCpuDoesIt) {
    ObservedProfile p;
    give_softirq(p.cpu(600), 450);
    give_softirq(p.cpu(600), 20);
    const auto found = p.find("softirq_on_one_cpu");
    EXPECT_NEAR(figure(found, "softirq", "cpu 0"), 0.45, 1e-9);
    EXPECT_NEAR(figure(found, "of_all_softirq"), 450.0 / 470, 1e-9);
}

TEST(SoftirqOnOneCpu, NotWhereItIsSharedOrSmall) {
    ObservedProfile p;
    give_softirq(p.cpu(600), 450);
    give_softirq(p.cpu(600), 300);
    EXPECT_FALSE(p.fires("softirq_on_one_cpu"));
    ObservedProfile small;
    give_softirq(small.cpu(600), 100);
    small.cpu(600);
    EXPECT_FALSE(small.fires("softirq_on_one_cpu"));
}

TEST(CpuStolen, IsWhatProcStatCounts) {
    ObservedProfile p;
    auto& ledger = p.cpu(500).ledger;
    ledger.stolen = ledger.total / 10;
    EXPECT_NEAR(figure(p.find("cpu_stolen"), "stolen_share"), 0.1, 1e-6);
    ledger.stolen = ledger.total / 30;
    EXPECT_FALSE(p.fires("cpu_stolen"));
}

}  // namespace
}  // namespace perfvigil::analyzer
