// SPDX-License-Identifier: GPL-2.0-or-later
// Rules about whether the numbers hold: loss, too few samples, idle read wrongly, no cycle counter, polling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;
using testing::Not;

// --- lost_samples

TEST(LostSamples, AreJudgedByTheirShareOfWhatWasDue) {
    ObservedProfile p;
    p.rest(980);
    p.profile.events[0].lost = 20;
    const auto found = p.find("lost_samples");
    EXPECT_EQ(found.severity, Severity::kWarning);
    EXPECT_DOUBLE_EQ(figure(found, "lost_share", "cpu-clock"), 0.02);
    EXPECT_EQ(found.evidence, "2.0 % of the cpu-clock samples were lost: 20 of 1000.");
    p.profile.events[0].whole_samples = 9980;
    EXPECT_EQ(p.find("lost_samples").evidence, "0.20 % of the cpu-clock samples were lost: 20 of 10000.");
}

// --- partial_coverage

// A CPU of which `samples` of 1000 ticks were written, all of them busy.
ProfileCpu& sampled_cpu(ObservedProfile& p, std::uint64_t samples) {
    auto& cpu = p.cpu(samples);
    cpu.sum.samples = samples;
    cpu.sum.idle_samples = 0;
    cpu.sum.mode_time[index_of(Mode::kIdle)] = {};
    cpu.busy = busy_of(cpu.sum);
    cpu.ledger = clock_ledger(cpu.sum);
    return cpu;
}

TEST(PartialCoverage, SaysWhatIsKnownOfTheMissingTime) {
    ObservedProfile p;
    p.rest(1000);
    auto& cpu = sampled_cpu(p, 400);
    cpu.sum.times_known = true;
    cpu.sum.times.idle = 590 * ObservedProfile::kTick;
    cpu.ledger = clock_ledger(cpu.sum);
    p.cpu(1000);
    const auto found = p.find("partial_coverage");
    EXPECT_EQ(found.severity, Severity::kInfo);
    EXPECT_EQ(found.evidence,
              "Fewer clock samples than ticks due on CPU 0 (40 %). What no sample shows of their time: 59 % idle by "
              "/proc/stat and 1.0 % not explained.");
    EXPECT_DOUBLE_EQ(figure(found, "coverage", "cpu 0"), 0.4);
}

TEST(PartialCoverage, WhatNothingExplainsIsNoticed) {
    ObservedProfile p;
    p.rest(1000);
    sampled_cpu(p, 900).sum.times_known = true;
    EXPECT_EQ(p.find("partial_coverage").severity, Severity::kNotice);
    // Without /proc/stat it may be idle time as well.
    p.profile.cpus[0].sum.times_known = false;
    EXPECT_EQ(p.find("partial_coverage").severity, Severity::kInfo);
    EXPECT_THAT(p.find("partial_coverage").meaning, HasSubstr("nothing tells idle time"));
}

TEST(PartialCoverage, ManyCpusAreNotAllNamed) {
    ObservedProfile p;
    p.rest(1000);
    for (int i = 0; i < 12; ++i) sampled_cpu(p, 10);
    EXPECT_THAT(p.find("partial_coverage").evidence, HasSubstr("and 4 more"));
}

TEST(PartialCoverage, FullCoverageIsNotTalkedAbout) {
    ObservedProfile p;
    p.rest(1000);
    p.cpu(200);
    sampled_cpu(p, 960);
    EXPECT_FALSE(p.fires("partial_coverage"));
}

// --- lost_samples, in parts

TEST(LostSamples, AFewAreToldQuietly) {
    ObservedProfile p;
    p.rest(99'500);
    p.profile.events[0].lost = 500;
    EXPECT_EQ(p.find("lost_samples").severity, Severity::kNotice);
    p.profile.events[0].lost = 50;
    EXPECT_EQ(p.find("lost_samples").severity, Severity::kInfo);
    p.profile.events[0].lost = 0;
    EXPECT_FALSE(p.fires("lost_samples"));
}

TEST(LostSamples, SharedLossIsNotCalledLossOfTheEvent) {
    ObservedProfile p;
    p.rest(980);
    p.profile.events[0].lost = 20;
    p.profile.events[0].lost_is_shared = true;
    EXPECT_EQ(p.find("lost_samples").evidence,
              "20 records of any kind were lost in the rings that hold cpu-clock, against 980 samples of it that "
              "arrived.");
}

TEST(LostSamples, NameTheCpuThatLostMost) {
    ObservedProfile p;
    p.rest(980);
    p.profile.events[0].lost = 20;
    p.cpu(500).sum.lost = 1;
    p.cpu(500).sum.lost = 19;
    EXPECT_THAT(p.find("lost_samples").evidence, HasSubstr("CPU 1 lost 19 of them."));
    p.profile.cpus[0].sum.lost = 10;
    p.profile.cpus[1].sum.lost = 10;
    EXPECT_THAT(p.find("lost_samples").evidence, Not(HasSubstr("CPU"))) << "neither more than the other";
}

TEST(ThrottledClock, SaysHowMuchTimeIsMissing) {
    ObservedProfile p;
    p.rest(1000);
    auto& cpu = p.cpu(500).sum;
    cpu.throttled = cpu.enabled / 5;
    EXPECT_EQ(p.find("throttled_clock").severity, Severity::kWarning);
    EXPECT_THAT(p.find("throttled_clock").evidence, HasSubstr("2.020 s: 20 % of the CPUs' time"));
    cpu.throttled = cpu.enabled / 50;
    EXPECT_EQ(p.find("throttled_clock").severity, Severity::kNotice);
    cpu.throttled = cpu.enabled / 200;
    EXPECT_FALSE(p.fires("throttled_clock"));
}

TEST(ThrottledCycles, SaysHowMuchWorkIsMissing) {
    ObservedProfile p;
    auto& cpu = p.rest(500).cpu(500).sum;  // ten seconds, half of them busy
    cpu.cycles_recorded = true;
    cpu.cycles_throttled = std::chrono::seconds(1);
    const auto found = p.find("throttled_cycles");
    EXPECT_EQ(found.severity, Severity::kWarning);
    EXPECT_THAT(found.evidence, HasSubstr("for 1.000 s, against 5.05"));
    EXPECT_NEAR(figure(found, "throttled_share", ""), 0.198, 0.001);
    EXPECT_FALSE(p.fires("throttled_clock"));
    cpu.cycles_throttled = std::chrono::milliseconds(100);
    EXPECT_EQ(p.find("throttled_cycles").severity, Severity::kNotice);
    cpu.cycles_throttled = std::chrono::milliseconds(40);
    EXPECT_FALSE(p.fires("throttled_cycles"));
    // An idle CPU has no tick that ends it, and nothing to count either.
    cpu.cycles_throttled = std::chrono::seconds(9);
    cpu.times_known = true;
    cpu.times.idle = static_cast<std::uint64_t>(cpu.enabled.count());
    EXPECT_FALSE(p.fires("throttled_cycles"));
}

TEST(ThrottledClock, ACpuThatIdledWithoutTicksHasNothingMissing) {
    ObservedProfile p;
    p.rest(1000);
    auto& cpu = p.cpu(3).sum;
    cpu.samples = 100;
    cpu.idle_samples = 97;
    cpu.throttled = cpu.enabled / 10 * 9;
    EXPECT_EQ(p.find("throttled_clock").severity, Severity::kWarning) << "nothing says that it was idle";
    cpu.times_known = true;
    cpu.times.idle = static_cast<std::uint64_t>(cpu.enabled.count()) / 1000 * 995;
    EXPECT_FALSE(p.fires("throttled_clock"));
    cpu.times.idle = static_cast<std::uint64_t>(cpu.enabled.count()) / 2;
    EXPECT_EQ(p.find("throttled_clock").severity, Severity::kWarning) << "idle for half of it";
}

// --- too_few_samples

TEST(TooFewSamples, SaysWhatTheyCannotTell) {
    ObservedProfile p;
    p.stack({user("hot")}, 20).stack({user("warm")}, 30);
    const auto found = p.find("too_few_samples");
    EXPECT_EQ(found.severity, Severity::kNotice);
    // Wilson's interval of 30 in 50: (0.6 + 2·1.92/50 ± …)/(1 + 3.84/50), by hand 46.2 % to 72.4 %.
    EXPECT_EQ(
        found.evidence,
        "50 samples of cpu-clock outside idle; the largest row, warm, has 30 of them and 60 % of the weight, 95 % "
        "interval 46 % to 72 %.");
    EXPECT_THAT(found.meaning, HasSubstr("4.3 % or 21 %"));
}

TEST(TooFewSamples, ThoseThatWeighNothingTellNothing) {
    ObservedProfile p(WeightUnit::kCycles);
    for (int i = 0; i < 10; ++i) p.stack({user("f" + std::to_string(i))}, 100);
    EXPECT_FALSE(p.fires("too_few_samples"));
    // Nine tenths of the samples with a period of 1: the other 100 weigh all.
    for (int i = 0; i < 9; ++i) p.profile.samples[static_cast<std::size_t>(i)].weight = 100;
    const auto found = p.find("too_few_samples");
    EXPECT_NEAR(figure(found, "effective_samples", "cycles"), 102, 1);
    EXPECT_THAT(found.evidence, HasSubstr("tell as much as 102 equal ones"));
}

TEST(TooFewSamples, IdleOnesDoNotCount) {
    ObservedProfile p;
    p.rest(399).idle({"default_idle", "do_idle"}, 100'000);
    EXPECT_EQ(p.find("too_few_samples").severity, Severity::kInfo);
    p.rest(1);
    EXPECT_FALSE(p.fires("too_few_samples"));
}

TEST(TooFewSamples, AWhollyIdleHostHasNone) {
    ObservedProfile p;
    p.idle({"default_idle", "do_idle"}, 1000);
    EXPECT_THAT(p.find("too_few_samples").evidence, HasSubstr("0 samples of cpu-clock outside idle."));
    EXPECT_FALSE(p.fires("no_samples"));
}

TEST(NoSamples, FiresWhereNoEventHasAny) {
    ObservedProfile p;
    EXPECT_EQ(p.find("no_samples").evidence, "cpu-clock was recorded, and not one sample.");
    p.profile.events.push_back({.name = "page-faults", .samples = 3, .weight = 3});
    EXPECT_FALSE(p.fires("no_samples"));
    EXPECT_FALSE(p.fires("too_few_samples")) << "page faults are not CPU time";
    p.profile.events.clear();
    EXPECT_FALSE(p.fires("no_samples")) << "nothing was meant to be recorded";
}

// --- idle_from_cycles, idle_from_samples

TEST(IdleFromCycles, SwappersShareOfCyclesIsNotIdle) {
    ObservedProfile p(WeightUnit::kCycles);
    p.rest(390).kernel({"intel_idle", "do_idle"}, 610, "swapper");
    const auto found = p.find("idle_from_cycles");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_EQ(found.evidence, "swapper has 61 % of cycles.");
    EXPECT_THAT(found.remedy, HasSubstr("Record cpu-clock"));
}

TEST(IdleFromCycles, WithAClockItSaysHowIdleTheCpusWere) {
    ObservedProfile p(WeightUnit::kCycles);
    p.rest(390).kernel({"intel_idle"}, 610, "swapper/3");
    p.cpu(100);
    const auto found = p.find("idle_from_cycles");
    EXPECT_EQ(found.severity, Severity::kInfo);
    EXPECT_THAT(found.evidence, HasSubstr("by the ticks due the CPUs were not busy 90 % of the time"));
}

TEST(IdleFromCycles, AThrottledClockKnowsNoIdle) {
    ObservedProfile p(WeightUnit::kCycles);
    p.rest(390).kernel({"intel_idle"}, 610, "swapper");
    auto& sum = p.cpu(100).sum;
    sum.throttled = sum.enabled / 3;
    EXPECT_EQ(p.find("idle_from_cycles").evidence, "swapper has 61 % of cycles.");
}

TEST(IdleFromCycles, NeedsAShareThatSomebodyWouldRead) {
    ObservedProfile p(WeightUnit::kCycles);
    p.rest(970).kernel({"intel_idle"}, 30, "swapper");
    EXPECT_FALSE(p.fires("idle_from_cycles"));
    ObservedProfile other(WeightUnit::kCycles);
    other.rest(390).kernel({"intel_idle"}, 610, "swapperd");
    EXPECT_FALSE(other.fires("idle_from_cycles")) << "another program";
    ObservedProfile selected(WeightUnit::kCycles);
    selected.rest(390).kernel({"intel_idle"}, 610, "swapper").profile.filter = "--comm swapper";
    EXPECT_FALSE(selected.fires("idle_from_cycles"));
}

TEST(IdleFromSamples, FiresWhereIdleCpusLeftFewSamples) {
    ObservedProfile p;
    p.rest(800).idle({"default_idle", "do_idle"}, 200);
    p.cpu(400);  // 60 % not busy, 20 % of the samples are swapper's
    const auto found = p.find("idle_from_samples");
    EXPECT_DOUBLE_EQ(figure(found, "swapper_share", "cpu-clock"), 0.2);
    EXPECT_NEAR(figure(found, "not_busy"), 0.6, 1e-9);
    p.profile.cpus[0].busy.ratio = 0.75;
    EXPECT_FALSE(p.fires("idle_from_samples")) << "25 % against 20 %: close enough";
}

TEST(IdleFromSamples, ARecordingOfOneProgramSaysNothingOfIdle) {
    ObservedProfile p;
    p.rest(1000);
    auto& cpu = p.cpu(400);
    cpu.sum.time_estimated = true;
    cpu.sum.idle_samples = 0;
    EXPECT_FALSE(p.fires("idle_from_samples"));
}

// --- no_pmu

TEST(NoPmu, TwoClocksOfOneNameAreOneMeasurement) {
    ObservedProfile p;
    p.rest(1000);
    EXPECT_FALSE(p.fires("no_pmu")) << "cpu-clock alone may be what was asked for";
    p.profile.events.push_back(p.profile.events[0]);
    const auto found = p.find("no_pmu");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("cpu-clock was recorded 2 times (1000 and 1000 samples)"));
    EXPECT_THAT(found.meaning, HasSubstr("one measurement"));
}

TEST(NoPmu, TwoClocksAtTwoRatesMayBeMeant) {
    ObservedProfile p;
    p.rest(1000);
    p.profile.events.push_back(p.profile.events[0]);
    p.profile.events[1].rate = 999;
    EXPECT_FALSE(p.fires("no_pmu"));
    p.profile.events[1] = {.name = "cycles", .unit = WeightUnit::kCycles, .samples = 900, .weight = 1};
    EXPECT_FALSE(p.fires("no_pmu"));
}

TEST(NoPmu, TheRemedyKnowsWhetherTheHostIsVirtual) {
    ObservedProfile p;
    p.rest(1000);
    p.profile.degraded.push_back({"no_pmu", "", ""});
    EXPECT_THAT(p.find("no_pmu").remedy, HasSubstr("If this was a virtual machine"));
    p.setting("virtual_machine", "yes");
    EXPECT_THAT(p.find("no_pmu").remedy, HasSubstr("Let the hypervisor give this"));
    p.profile.host.settings[0].value = "no";
    EXPECT_THAT(p.find("no_pmu").remedy, Not(HasSubstr("QEMU")));
}

// --- polling_idle

TEST(PollingIdle, IsSeenInIdleSamplesToo) {
    ObservedProfile p;
    p.rest(500).idle({"poll_idle", "cpuidle_enter_state", "do_idle"}, 300).idle({"intel_idle", "do_idle"}, 200);
    const auto found = p.find("polling_idle");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_DOUBLE_EQ(figure(found, "share"), 0.3);
}

TEST(PollingIdle, AFewMicrosecondsBeforeSleepAreOrdinary) {
    ObservedProfile p;
    p.rest(500).idle({"poll_idle", "do_idle"}, 10).idle({"intel_idle", "do_idle"}, 490);
    EXPECT_FALSE(p.fires("polling_idle")) << "1 % seen does not support that it is at least 1 %";
    ObservedProfile named_so;
    named_so.stack({user("poll_idle"), user("main")}, 1000);
    EXPECT_FALSE(named_so.fires("polling_idle")) << "a user function";
}

TEST(PollingIdle, TheCommandLineIsEvidenceByItself) {
    ObservedProfile p;
    p.rest(1000).profile.host.kernel_command_line = "quiet idle=poll";
    EXPECT_EQ(p.find("polling_idle").evidence, "idle=poll is on the kernel command line.");
    p.profile.host.kernel_command_line = "quiet -- idle=poll";
    EXPECT_FALSE(p.fires("polling_idle")) << "an argument of init";
    p.profile.host.kernel_command_line = "idle=poll idle=halt";
    EXPECT_FALSE(p.fires("polling_idle")) << "the last one counts";
}

}  // namespace
}  // namespace perfvigil::analyzer
