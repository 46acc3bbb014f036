// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/perf_script.hpp"

#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/observation_warnings.hpp"
#include "tests/support/profile_folds.hpp"
#include "tests/support/text_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Profile read(std::string_view text, const ScriptOptions& options = {}) {
    return profile_of_text(text, [&](TextLines& lines) { return read_perf_script(lines, options); });
}

std::string error_of(std::string_view text) {
    const auto profile = try_text(text, [](TextLines& lines) { return read_perf_script(lines); });
    return profile ? "no error" : profile.error().message;
}

TEST(PerfScript, EventsStayApartAndWeighTheirPeriods) {
    const auto profile = read(
        "app   100/101   [000]     10.000000:   10101010 cpu-clock: \n"
        "\t          401000 leaf+0x10 (/bin/app)\n"
        "\t          402000 main+0x20 (/bin/app)\n"
        "\n"
        "app   100/101   [000]     10.000100:       5000 cycles: \n"
        "\t          401000 leaf+0x10 (/bin/app)\n"
        "\t          402000 main+0x20 (/bin/app)\n"
        "\n"
        "app   100/101   [001]     10.010000:   10101010 cpu-clock: \n"
        "\t          401004 leaf+0x14 (/bin/app)\n"
        "\t          402000 main+0x20 (/bin/app)\n"
        "\n"
        "app   100/101   [001]     10.010100:       7000 cycles: \n"
        "\t          402004 main+0x24 (/bin/app)\n");  // no blank line ends it
    ASSERT_EQ(profile.events.size(), 2U);
    EXPECT_EQ(profile.events[0].name, "cpu-clock");
    EXPECT_EQ(profile.events[0].unit, WeightUnit::kNanoseconds);
    EXPECT_EQ(profile.events[0].samples, 2U);
    EXPECT_EQ(profile.events[0].weight, 20202020U);
    EXPECT_EQ(profile.events[0].rate, 99U);
    EXPECT_EQ(profile.events[0].nominal_period, Nanoseconds(10101010));
    EXPECT_EQ(profile.events[1].name, "cycles");
    EXPECT_EQ(profile.events[1].unit, WeightUnit::kCycles);
    EXPECT_EQ(profile.events[1].weight, 12000U);
    EXPECT_EQ(folds_of(profile, 0), (Folds{{"app;main;leaf", 20202020}}));
    EXPECT_EQ(folds_of(profile, 1), (Folds{{"app;main;leaf", 5000}, {"app;main", 7000}}));
    EXPECT_EQ(profile.duration, std::chrono::microseconds(10100));
    EXPECT_THAT(profile.warnings, IsEmpty());
}

TEST(PerfScript, WithoutPeriodsEverySampleIsOne) {
    const auto profile = read(
        "a 1 cycles: \n\t 1 f (/bin/a)\n\n"
        "a 1 cycles: \n\t 1 f (/bin/a)\n\n");
    EXPECT_EQ(profile.events[0].weight, 2U);
    EXPECT_EQ(profile.events[0].unit, WeightUnit::kEvents);
    EXPECT_THAT(profile.warnings, ElementsAre("The samples of cycles have no periods: each counts the same."));
}

TEST(PerfScript, ModifiersAndPmusInEventNames) {
    EXPECT_EQ(unit_of_event("cycles:P"), WeightUnit::kCycles);
    EXPECT_EQ(unit_of_event("cpu_core/cycles/"), WeightUnit::kCycles);
    EXPECT_EQ(unit_of_event("cpu-cycles:ppp"), WeightUnit::kCycles);
    EXPECT_EQ(unit_of_event("task-clock:u"), WeightUnit::kNanoseconds);
    EXPECT_EQ(unit_of_event("cpu-clock"), WeightUnit::kNanoseconds);
    EXPECT_EQ(unit_of_event("sched:sched_switch"), WeightUnit::kEvents);
    EXPECT_EQ(unit_of_event("ref-cycles"), WeightUnit::kEvents);
}

TEST(PerfScript, TracepointsKeepTheirTextOutOfTheirNames) {
    const auto profile = read(
        "comm1 0/0 [000] 0.000000: sched:sched_switch: prev_comm=a:b prev_pid=0 ==> next_comm=c 1.0: x\n"
        "comm2 1/1 [001] 1.000000: sched:sched_switch: prev_comm=b prev_pid=1 ==> next_comm=a\n"
        "comm2 1/1 [001] 2.000000: probe:f__return: (4004f6 <- 400512)\n");
    ASSERT_EQ(profile.events.size(), 2U);
    EXPECT_EQ(profile.events[0].name, "sched:sched_switch");
    EXPECT_EQ(profile.events[1].name, "probe:f__return");
    EXPECT_EQ(folds_of(profile, 0), (Folds{{"comm1", 1}, {"comm2", 1}}));
    EXPECT_THAT(profile.warnings, Contains(HasSubstr("2 of the 2 samples of sched:sched_switch have no frames")));
}

TEST(PerfScript, OneFrameOnTheHeadersLine) {
    const auto profile = read(
        "           false 39654 19115.489713:          1 cycles:u:  ffffffff9b201293 [unknown] ([unknown])\n"
        "           false 39654 19115.489719:          3 cycles:u:      7fa68b1f2d84 _dl_start+0x4 "
        "(/usr/lib/ld-2.31.so)\n"
        "            cafe 39654 19115.489720:          5 cycles:u:      7fa68b1f2d84 _dl_start+0x4 "
        "(/usr/lib/ld-2.31.so)\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"false;[unknown]", 1}, {"false;_dl_start", 3}, {"cafe;_dl_start", 5}}));
    EXPECT_EQ(profile.functions[0].reason, UnknownReason::kUnmapped);
}

TEST(PerfScript, AFrameOfNoSampleBehindOneOnAHeadersLine) {
    const auto profile = read(
        "app 1 1.000000: 1 cycles:  401234abcdef main+0x4 (/bin/app)\n"
        "perf 1/1 [000] 1.500000: PERF_RECORD_COMM: app:1/1\n"
        "\n"
        "\t    7fa68b1f2d84 lost+0x4 (/bin/app)\n"
        "app 1 2.000000: 1 cycles:  401234abcdef main+0x4 (/bin/app)\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"app;main", 2}}));
}

TEST(PerfScript, InlinedFramesOfModulesAreCounted) {
    const auto profile = read(
        "a 1 1.000000: 1 cycles: \n"
        "\tffffffffc0401000 inner (inlined)\n"
        "\tffffffffc0401000 middle (inlined)\n"
        "\tffffffffc0401000 outer+0x4 ([nfsd])\n"
        "\tffffffff81401000 small (inlined)\n"
        "\tffffffff81401000 vfs_read+0x4 ([kernel.kallsyms])\n");
    EXPECT_EQ(profile.host.settings, (std::vector<ProfileFact>{{"module_inlines.nfsd", "2"}}));
}

TEST(PerfScript, InlinedFramesBelongToTheBinaryTheyAreIn) {
    const auto profile = read(
        "a 1 1.000000: 1 cycles: \n"
        "\t          401000 inner (inlined)\n"
        "\t          401000 middle (inlined)\n"
        "\t          401000 outer+0x4 (/bin/a)\n"
        "\t          401000 inner (inlined)\n"
        "\t          401000 other+0x4 (/lib/b.so)\n"
        "\t          401000 lost (inlined)\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;lost;other;inner;outer;middle;inner", 1}}));
    const auto dso_of = [&](std::size_t frame) {
        return profile.functions[profile.stacks[profile.samples[0].stack].functions[frame]].dso;
    };
    EXPECT_EQ(dso_of(0), "/bin/a");
    EXPECT_EQ(dso_of(1), "/bin/a");
    EXPECT_EQ(dso_of(3), "/lib/b.so");
    EXPECT_EQ(dso_of(5), "");
}

TEST(PerfScript, RuntimesThatInlinePrintArrows) {
    const auto profile = read(
        "java 1 1.000000: 1 cycles: \n"
        "\t          401000 Lfoo;::outer->Lbar;::inner (/tmp/perf-77.map)\n"
        "\t          401000 Foo::operator->+0x4 (/bin/a)\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"java;Foo::operator->;Lfoo;::outer;Lbar;::inner", 1}}));
}

TEST(PerfScript, CommentsDescribeTheHost) {
    const auto profile = read(
        "# ========\n"
        "# captured on    : Thu Aug 17 14:14:43 2017\n"
        "# hostname : build7\n"
        "# os release : 4.13.0-rc1\n"
        "# perf version : 4.13.rc1\n"
        "# arch : x86_64\n"
        "# nrcpus online : 8\n"
        "# cpudesc : Intel(R) Xeon(R) CPU E3-1245 v5 @ 3.50GHz\n"
        "# cmdline : /usr/bin/perf record -e cycles -F 199 -a -- sleep 1 \n"
        "# event : name = cycles, , id = { 550, 551 }, size = 112, { sample_period, sample_freq } = 199, sample_type = "
        "IP|TID, disabled = 1, freq = 1, exclude_guest = 1\n"
        "# ========\n"
        "#\n"
        "a 1 1.000000: 4 cycles: \n\t 1 f (/bin/a)\n\n");
    EXPECT_EQ(profile.host.hostname, "build7");
    EXPECT_EQ(profile.host.os_release, "4.13.0-rc1");
    EXPECT_EQ(profile.host.architecture, "x86_64");
    EXPECT_EQ(profile.host.cpus_online, 8U);
    EXPECT_EQ(profile.host.cpu_description, "Intel(R) Xeon(R) CPU E3-1245 v5 @ 3.50GHz");
    EXPECT_EQ(profile.host.recorder, "perf 4.13.rc1");
    EXPECT_THAT(profile.notes, ElementsAre("Recorded by: /usr/bin/perf record -e cycles -F 199 -a -- sleep 1"));
    EXPECT_EQ(profile.events[0].rate, 199U);
    EXPECT_TRUE(profile.events[0].frequency_mode);
}

TEST(PerfScript, ANewlineInAThreadsNameBreaksItsHeaderInTwo) {
    const auto profile = read(
        "a 1 1.000000: 1 cycles: \n\t 1 f (/bin/a)\n\n"
        "two\n"
        "lines 12 1.100000: 2 cycles: \n\t 1 f (/bin/a)\n\n"
        "two\n"
        " 12 1.200000: 4 cycles: \n\t 1 f (/bin/a)\n\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;f", 1}, {"two\nlines;f", 2}, {"two\n;f", 4}}));
    EXPECT_THAT(profile.warnings, IsEmpty());
}

TEST(PerfScript, LinesThatCannotBeReadAreCountedAndShown) {
    const auto profile = read(
        "Failed to open /lib/libx.so, continuing without symbols\n"
        "a 1 1.000000: 1 cycles: \n"
        "\t          401000 f (/bin/a)\n"
        "\tTHIS_IS_A_WEIRD_LINE\n"
        "\n"
        " instruction trace error type 1 time 1.5 cpu 2 pid 3 tid 4 ip 0x5 code 6: Trace doesn't match instruction\n"
        "what is this\n"
        "\t          402000 no_header_needed (/bin/a)\n"
        "\n"
        "a 1 2.000000: 1 cycles: \n"
        "\t          401000 f (/bin/a)\n"
        "rubbish at the end of it all, and more of it\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;f", 2}}));
    EXPECT_EQ(folds_of(profile, 1), (Folds{{"what is this;no_header_needed", 1}}));
    ASSERT_FALSE(profile.warnings.empty());
    EXPECT_THAT(profile.warnings[0],
                testing::StartsWith("4 lines could not be read: line 1: \"Failed to open /lib/libx.so, continuing "
                                    "without symbols\"; line 4: \"THIS_IS_A_WEIRD_LINE\"; line 6: "));
}

TEST(PerfScript, RecordsBetweenSamplesArePassedOver) {
    const auto profile = read(
        "perf 1/1 [000] 1.000000: PERF_RECORD_MMAP2 1/1: [0x55(0x1000) @ 0 08:01 1 2]: r-xp /usr/bin/perf\n"
        "perf 1/1 [000] 1.000000: PERF_RECORD_NAMESPACES 1/1 - nr_namespaces: 7\n"
        "\t\t[0/net: 4/0xf0000075, 1/uts: 4/0xeffffffe]\n"
        "a 1/1 [000] 1.000001: 1 cycles: \n\t 1 f (/bin/a)\n\n"
        "perf 1/1 [000] 1.500000: PERF_RECORD_LOST lost 42\n"
        "a 1/1 [000] 2.000001: 1 cycles: \n\t 1 f (/bin/a)\n\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;f", 2}}));
    EXPECT_EQ(profile.events[0].lost, 42U);
    EXPECT_TRUE(profile.events[0].lost_is_shared);
    EXPECT_THAT(profile.warnings, IsEmpty());
    EXPECT_THAT(warnings_of(profile),
                ElementsAre(HasSubstr("42 records of any kind were lost in the rings that hold cycles")));
}

TEST(PerfScript, SourceLinesAndBranchStacksBehindFrames) {
    const auto profile = read(
        "a 1 1.000000: 1 cycles: \n"
        "\t          401000 f+0x4 (/bin/a)\n"
        "  file.c:12\n"
        "\t          402000 main+0x4 (/bin/a)\n"
        "  ??:0\n"
        " 0x55e1/0x55f2/P/-/-/12  0x55f0/0x55e0/M/-/-/1 \n"
        "\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;main;f", 1}}));
    EXPECT_THAT(profile.warnings, IsEmpty());
}

TEST(PerfScript, AddressesWithoutNamesAreUnknownFrames) {
    const auto profile = read("a 1 1.000000: 1 cycles: \n\t          401000 \n\t    7f0000402000\n\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;[unknown];[unknown]", 1}}));
    EXPECT_THAT(profile.warnings, IsEmpty());
}

TEST(PerfScript, ABlankLineBetweenAHeaderAndItsFrame) {
    const auto profile = read(
        "a 1 1.000000: 1 cycles: \n\n\t 1 f (/bin/a)\n\n"
        "a 1 2.000000: 2 cycles: \n\n"
        "a 1 3.000000: 4 cycles: \n\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"a;f", 1}, {"a", 6}}));
}

const std::string kIdleFrames =
    "\tffffffff819a821e native_safe_halt ([kernel.kallsyms])\n"
    "\tffffffff81082f06 do_idle ([kernel.kallsyms])\n"
    "\tffffffff810830ff cpu_startup_entry ([kernel.kallsyms])\n\n";

TEST(PerfScript, IdleIsTheSwapperUnderItsLoopWithoutInterrupts) {
    const auto profile = read("swapper     0/0     [003] 4.000000:    1000 cpu-clock: \n" + kIdleFrames +
                              "swapper     0/0     [003] 4.100000:    1000 cpu-clock: \n"
                              "\tffffffff819a821e net_rx_action ([kernel.kallsyms])\n"
                              "\tffffffff819a821e handle_softirqs ([kernel.kallsyms])\n" +
                              kIdleFrames +
                              // A program may call itself so.
                              "swapper     7/7     [003] 4.200000:    1000 cpu-clock: \n" + kIdleFrames +
                              "swapper     0/0     [003] 4.300000:    1000 cpu-clock: \n"
                              "\tffffffff819a821e schedule_idle ([kernel.kallsyms])\n\n");
    const auto& event = profile.events[0];
    EXPECT_EQ(event.samples, 4U);
    EXPECT_EQ(event.idle_samples, 2U);  // a lone frame of the swapper is idle, as in captures
    EXPECT_EQ(event.idle_weight, 2000U);
    for (const auto& sample : profile.samples) {
        const auto flags = profile.stacks[sample.stack].flags;
        EXPECT_NE(flags & kStackKernelLeaf, 0);
        EXPECT_EQ((flags & kStackSoftirq) != 0, profile.stacks[sample.stack].functions.size() == 5);
    }
    EXPECT_THAT(profile.degraded, IsEmpty());
}

TEST(PerfScript, WithoutFramesIdleIsToldFromTheTask) {
    const auto profile = read("swapper 0 [000] 1.000000: 10 cpu-clock: \nbash 7 [000] 2.000000: 10 cpu-clock: \n");
    EXPECT_EQ(profile.events[0].idle_samples, 1U);
    ASSERT_EQ(profile.degraded.size(), 1U);
    EXPECT_EQ(profile.degraded[0].reason, "idle_by_task");
}

TEST(PerfScript, BrokenStacksNameTheBinaryTheyBreakIn) {
    const auto profile = read(
        "a 1 1.000000: 1 cpu-clock: \n\t 1 f (/bin/a)\n\t 2 g (/lib/b.so)\n\t 99 [unknown] ([unknown])\n\n"
        "a 1 1.100000: 1 cpu-clock: \n\t 1 f (/bin/a)\n\t 2 main (/bin/a)\n\n");
    ASSERT_EQ(profile.broken.size(), 2U);
    EXPECT_EQ(profile.broken[0], (BrokenStacks{.dso = "/bin/a", .samples = 2, .broken = 0}));
    EXPECT_EQ(profile.broken[1], (BrokenStacks{.dso = "/lib/b.so", .samples = 1, .broken = 1}));
}

TEST(PerfScript, MomentsOfFiveSecondsWhateverTheOrder) {
    std::string text;
    // 24 seconds, one sample each of weight 10, the second half printed first.
    for (int i = 0; i < 24; ++i) {
        const int second = (i + 12) % 24;
        text += fmt::format("a 1 {}.000000: 10 cycles: \n\t 1 f{} (/bin/a)\n\n", 100 + second, second / 12);
    }
    const auto profile = read(text);
    EXPECT_EQ(profile.duration, std::chrono::seconds(23));
    EXPECT_THAT(profile.warnings, Contains("1 sample is older than the one before: the times were sorted."));
    std::uint64_t samples = 0;
    std::uint64_t top = 0;
    Nanoseconds length{};
    for (const auto& moment : profile.moments) {
        samples += moment.totals.at(0).samples;
        length += moment.length;
        for (const auto& row : moment.top) top += row.weight;
        EXPECT_LE(moment.length, std::chrono::milliseconds(7500));
    }
    EXPECT_EQ(samples, 24U);
    EXPECT_EQ(top, 240U);
    EXPECT_EQ(length, profile.duration);
    // Slices begin with the first line's time, 112 s: 100..102, 102..107, 107..112, 112..117, 117..123.
    EXPECT_EQ(profile.moments.size(), 5U);
    EXPECT_EQ(profile.moments.front().totals[0].samples, 2U);
    EXPECT_EQ(profile.moments.back().totals[0].samples, 7U);
}

TEST(PerfScript, NothingReadableIsAnErrorWithItsFirstLine) {
    EXPECT_THAT(error_of(""), HasSubstr("empty"));
    EXPECT_THAT(error_of("\nthis\nis an unknown\nformat\n"), HasSubstr("no sample of perf script in 4 lines"));
    EXPECT_THAT(error_of("\nthis\nis an unknown\nformat\n"), HasSubstr("line 2: \"this\""));
}

}  // namespace
}  // namespace perfvigil::analyzer
