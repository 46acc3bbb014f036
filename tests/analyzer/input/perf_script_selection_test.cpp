// SPDX-License-Identifier: GPL-2.0-or-later
// Samples of perf script texts by time, CPU, process and thread, and what their CPUs did.
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/grouping.hpp"
#include "analyzer/input/perf_script.hpp"
#include "tests/support/profile_folds.hpp"
#include "tests/support/text_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kPeriod = 10'000'000;

struct Line {
    std::string comm = "app";
    int pid = 100;
    int tid = 101;
    unsigned cpu = 0;
    std::uint64_t tick = 0;  // of kPeriod, from 100 s on
    std::string event = "cpu-clock";
    std::string frame = "401000 leaf+0x10 (/bin/app)";
};

std::string text_of(const Line& line) {
    const std::uint64_t us = line.tick * kPeriod / 1000;
    return fmt::format("{} {}/{} [{:03}] {}.{:06}: {} {}: \n\t{}\n\n", line.comm, line.pid, line.tid, line.cpu,
                       100 + us / 1'000'000, us % 1'000'000, kPeriod, line.event, line.frame);
}

const std::string kIdle =
    "ffffffff81000000 default_idle_call+0x1 ([kernel.kallsyms])\n"
    "\tffffffff81000100 do_idle+0x1 ([kernel.kallsyms])";
const std::string kSoftirq =
    "ffffffff81000200 net_rx_action+0x1 ([kernel.kallsyms])\n"
    "\tffffffff81000300 __irq_exit_rcu+0x1 ([kernel.kallsyms])\n"
    "\tffffffff81000100 do_idle+0x1 ([kernel.kallsyms])";

// Two CPUs for 1 s: CPU 0 runs threads 101 and 102 of process 100 in turn, CPU 1 idles but for process 200 in its last
// quarter.
std::string two_cpus() {
    std::string text;
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
        text += text_of({.tid = tick % 2 == 0 ? 101 : 102, .tick = tick});
        text += tick < 75 ? text_of({.comm = "swapper", .pid = 0, .tid = 0, .cpu = 1, .tick = tick, .frame = kIdle})
                          : text_of({.comm = "late", .pid = 200, .tid = 200, .cpu = 1, .tick = tick});
    }
    return text;
}

Profile read(std::string_view text, const SampleSelection& selection = {}) {
    return profile_of_text(text, [&](TextLines& lines) {
        ScriptOptions options{.samples = selection};
        if (selection.time && selection.time->unit == TimeRange::Unit::kPercent) {
            MemorySource source(text);
            TextLines first(source);
            options.span = script_span(first);
        }
        return read_perf_script(lines, options);
    });
}

std::uint64_t samples_of(const Profile& profile) { return profile.events.at(0).samples; }

TEST(PerfScriptSelection, EachFieldSelects) {
    const auto text = two_cpus();
    EXPECT_EQ(samples_of(read(text)), 200U);
    EXPECT_EQ(samples_of(read(text, {.cpus = {CpuId{0}}})), 100U);
    EXPECT_EQ(samples_of(read(text, {.pids = {Pid{200}}})), 25U);
    EXPECT_EQ(samples_of(read(text, {.tids = {Tid{102}}})), 50U);
    EXPECT_EQ(samples_of(read(text, {.time = TimeRange{TimeRange::Unit::kSeconds, 0.25, 0.5}})), 50U);
    // Of 0.99 s between the first sample and the last one.
    EXPECT_EQ(samples_of(read(text, {.time = TimeRange{TimeRange::Unit::kPercent, 50, 100}})), 100U);
    EXPECT_EQ(samples_of(read(text, {.time = TimeRange{TimeRange::Unit::kSeconds, 0, 0.8},
                                     .cpus = {CpuId{1}},
                                     .pids = {Pid{100}, Pid{200}}})),
              5U);
}

TEST(PerfScriptSelection, WhatIsLeftOutIsPartOfTheWhole) {
    const auto profile = read(two_cpus(), {.pids = {Pid{200}}});
    EXPECT_EQ(profile.filter, "--pid 200");
    EXPECT_EQ(profile.events[0].whole_samples, 200U);
    EXPECT_EQ(profile.events[0].whole_weight, 200 * kPeriod);
    EXPECT_EQ(profile.events[0].weight, 25 * kPeriod);
    // The rate is over the stretch that was looked at, not over the process's life.
    EXPECT_EQ(profile.duration, Nanoseconds(99 * std::int64_t{kPeriod}));
    EXPECT_THAT(profile.cpus, IsEmpty());
    EXPECT_THAT(profile.notes, Contains(HasSubstr("ledgers of CPUs are left out")));
    const auto part = read(two_cpus(), {.time = TimeRange{TimeRange::Unit::kSeconds, 0.25, 0.5}});
    EXPECT_EQ(part.duration, Nanoseconds(24 * std::int64_t{kPeriod}));
    EXPECT_EQ(part.events[0].whole_samples, 200U);
}

TEST(PerfScriptSelection, WhatTheTextLacksIsSaid) {
    const std::string text =
        "a 7 100.000000: 5 cycles: \n\t 1 f (/bin/a)\n\n"
        "a 8 100.000100: 5 cycles: \n\t 1 f (/bin/a)\n\n";
    const auto pids = read(text, {.pids = {Pid{7}}});
    EXPECT_EQ(samples_of(pids), 0U);
    EXPECT_THAT(pids.warnings, Contains(HasSubstr("2 samples do not say whose process they are, so --pid left them "
                                                  "out: print it (perf script -F +pid)")));
    EXPECT_EQ(samples_of(read(text, {.tids = {Tid{7}}})), 1U);
    EXPECT_THAT(read(text, {.cpus = {CpuId{0}}}).warnings, Contains(HasSubstr("-F +cpu")));
    const std::string timeless = "a 7 5 cycles: \n\t 1 f (/bin/a)\n\n";
    EXPECT_THAT(read(timeless, {.time = TimeRange{TimeRange::Unit::kPercent, 0, 50}}).warnings,
                Contains(HasSubstr("-F +time")));
    EXPECT_THAT(read(text, {.time = TimeRange{TimeRange::Unit::kSeconds, 5, 6}}).warnings,
                Contains(HasSubstr("No sample lies in the time range")));
}

TEST(PerfScriptSelection, ContextsAreToldApartOnRequest) {
    const auto text = two_cpus();
    EXPECT_EQ(read(text).contexts.size(), 3U);
    const auto profile = read(text, {.by_tid = true, .by_cpu = true});
    const auto groups = group_by(profile, 0, {GroupKey::kCpu, GroupKey::kTid}, IdleRows::kExclude);
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_THAT(groups[0].names, ElementsAre("0", "101"));
    EXPECT_EQ(groups[0].samples, 50U);
    EXPECT_THAT(groups[2].names, ElementsAre("1", "200"));
    const auto pids = group_by(read(text, {.by_pid = true}), 0, {GroupKey::kPid}, IdleRows::kInclude);
    ASSERT_EQ(pids.size(), 3U);
    EXPECT_THAT(pids[0].names, ElementsAre("100"));
}

TEST(PerfScriptCpus, BusyIsOfTheTicksDueBetweenFirstAndLast) {
    const auto profile = read(two_cpus());
    ASSERT_EQ(profile.cpus.size(), 2U);
    const ProfileCpu& busy = profile.cpus[0];
    EXPECT_TRUE(busy.sum.time_estimated);
    EXPECT_EQ(busy.sum.enabled, Nanoseconds(100 * std::int64_t{kPeriod}));
    EXPECT_DOUBLE_EQ(busy.busy.ratio, 1);
    EXPECT_EQ(busy.ledger.unexplained, 0);
    const ProfileCpu& idle = profile.cpus[1];
    EXPECT_DOUBLE_EQ(idle.busy.ratio, 0.25);
    EXPECT_EQ(idle.ledger.idle, 75 * std::int64_t{kPeriod});
    EXPECT_EQ(idle.ledger.busy, 25 * std::int64_t{kPeriod});
    const auto one = read(two_cpus(), {.cpus = {CpuId{1}}});
    ASSERT_EQ(one.cpus.size(), 1U);
    EXPECT_EQ(one.cpus[0], idle);
}

TEST(PerfScriptCpus, ACpuThatWritesNoIdleSamplesIsNotBusy) {
    std::string text;
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
        text += text_of({.tick = tick});
        if (tick < 10) text += text_of({.cpu = 3, .tick = tick});
    }
    // It may as well have followed one program.
    EXPECT_THAT(read(text).cpus, IsEmpty());
    text += text_of({.comm = "swapper", .pid = 0, .tid = 0, .cpu = 3, .tick = 50, .frame = kSoftirq});
    const auto profile = read(text);
    ASSERT_EQ(profile.cpus.size(), 2U);
    EXPECT_DOUBLE_EQ(profile.cpus[1].busy.ratio, 0.11);
    EXPECT_EQ(profile.cpus[1].ledger.unexplained, 89 * std::int64_t{kPeriod});
    EXPECT_EQ(read(text, {.cpus = {CpuId{0}}}).cpus.size(), 1U);
}

TEST(PerfScriptCpus, InterruptsInIdleAndLossesAreNamed) {
    std::string text;
    for (std::uint64_t tick = 0; tick < 40; ++tick) {
        if (tick >= 30 && tick < 39) continue;
        text += text_of({.comm = "swapper", .pid = 0, .tid = 0, .tick = tick, .frame = tick < 8 ? kSoftirq : kIdle});
    }
    text += "swapper 0/0 [000] 100.395000: PERF_RECORD_LOST lost 5\n";
    const auto profile = read(text);
    ASSERT_EQ(profile.cpus.size(), 1U);
    EXPECT_EQ(profile.cpus[0].ledger.irq_in_idle, 8 * std::int64_t{kPeriod});
    EXPECT_EQ(profile.cpus[0].ledger.lost, 5 * std::int64_t{kPeriod});
    EXPECT_EQ(profile.cpus[0].ledger.unexplained, 4 * std::int64_t{kPeriod});
}

TEST(PerfScriptCpus, NothingIsMadeUpWhereTheTextDoesNotSay) {
    const std::string whole = two_cpus();
    const auto cpus_of = [](const std::string& text) { return read(text).cpus.size(); };
    EXPECT_EQ(cpus_of(whole + "app 100/101 101.000000: 10000000 cpu-clock: \n\t1 f (/bin/a)\n\n"), 0U);  // no CPU
    const auto idle_of = [](const std::string& event) {
        return text_of({.comm = "swapper", .pid = 0, .tid = 0, .tick = 1, .event = event, .frame = kIdle});
    };
    EXPECT_EQ(cpus_of(text_of({.event = "cpu-clock:u"}) + idle_of("cpu-clock:u")), 0U);
    EXPECT_EQ(cpus_of(text_of({.event = "cpu-clock:pppH"}) + idle_of("cpu-clock:pppH")), 1U);
    EXPECT_EQ(cpus_of(text_of({.event = "cycles"}) + idle_of("cycles")), 0U);
    EXPECT_EQ(cpus_of(whole + "app 100/101 [000] 101.000000: 5 cpu-clock: \n\t1 f (/bin/a)\n\n"), 0U);  // no period
    const auto twice = read(whole + whole);
    EXPECT_THAT(twice.cpus, IsEmpty());
    EXPECT_THAT(twice.warnings, Contains(HasSubstr("more samples of cpu-clock than its period allows")));
}

TEST(PerfScriptCpus, IdleWithoutKernelNamesIsToldByTheTask) {
    const std::string nameless =
        "ffffffff81000000 [unknown] ([kernel.kallsyms])\n"
        "\tffffffff81000100 [unknown] ([kernel.kallsyms])";
    std::string text;
    for (std::uint64_t tick = 0; tick < 20; ++tick) {
        text += text_of({.comm = "swapper", .pid = 0, .tid = 0, .tick = tick, .frame = nameless});
    }
    const auto profile = read(text);
    EXPECT_EQ(profile.events[0].idle_samples, 20U);
    ASSERT_EQ(profile.degraded.size(), 1U);
    EXPECT_EQ(profile.degraded[0].reason, "idle_by_task");
}

}  // namespace
}  // namespace perfvigil::analyzer
