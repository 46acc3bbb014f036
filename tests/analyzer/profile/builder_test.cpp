// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analyzer/observations.hpp"
#include "analyzer/profile/tables.hpp"
#include "tests/support/fake_symbolizer.hpp"
#include "tests/support/slice_collector.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::Dso;
using collector::DsoId;
using collector::DsoKind;
using collector::DsoRef;
using collector::EventInfo;
using collector::EventRole;
using std::chrono::seconds;

// Slices by hand: side-band (0), cycles (1), cpu-clock (2).
class ProfileBuilderTest : public testing::Test {
protected:
    ProfileBuilderTest() {
        events.push_back({"dummy:HG", EventRole::kSideBand, test::side_band_attr()});
        events.push_back({"cycles", EventRole::kSampling, test::cycles_attr()});
        events.push_back({"cpu-clock", EventRole::kSampling, test::cpu_clock_attr()});
        symbolizer.files["/bin/program"].functions = {{0x100, {0x100, "main"}}, {0x200, {0x100, "work"}}};
        symbolizer.files["/bin/stripped"].reason = UnknownReason::kNoSymbols;
        symbolizer.files["[kernel.kallsyms]"].functions = {{0xff00, {0x100, "sys_read"}}};
        symbolizer.files["/lib/module"].functions = {{0, {0x1000, "work"}}};
        slice = fresh_slice();
    }
    Slice fresh_slice() {
        Slice made;
        made.start = MonotonicTime(seconds(100));
        made.end = MonotonicTime(seconds(105));
        made.wall_end = WallTime(seconds(1005));
        made.totals.resize(3);
        return made;
    }
    DsoRef dso(std::uint32_t id, std::string path, DsoKind kind = DsoKind::kFile) {
        return std::make_shared<const Dso>(Dso{.id = DsoId{id}, .kind = kind, .path = std::move(path), .build_id = {}});
    }
    // Frames innermost first.
    std::uint32_t stack(std::vector<Frame> frames, std::uint8_t flags = 0, DsoId broken_in = {}) {
        Stack made{.first = static_cast<std::uint32_t>(slice.stack_frames.size()),
                   .depth = static_cast<std::uint16_t>(frames.size()),
                   .flags = flags,
                   .broken_in = broken_in};
        for (const Frame& frame : frames) {
            slice.stack_frames.push_back(static_cast<std::uint32_t>(slice.frames.size()));
            slice.frames.push_back(frame);
        }
        slice.stacks.push_back(made);
        return static_cast<std::uint32_t>(slice.stacks.size() - 1);
    }
    std::uint32_t actor(std::string comm, std::string cgroup, std::int32_t pid = 1) {
        Actor& made = slice.add_actor();
        made.pid = Pid{pid};
        made.comm = std::move(comm);
        made.cgroup_path = std::move(cgroup);
        return static_cast<std::uint32_t>(slice.actors.size() - 1);
    }
    void entry(std::uint32_t event, std::uint32_t of_stack, std::uint32_t of_actor, std::uint64_t samples,
               std::uint64_t weight, bool idle = false) {
        slice.entries.push_back({{event}, of_stack, of_actor, idle, samples, weight});
        slice.totals[event].samples += samples;
        slice.totals[event].weight += weight;
    }
    void use_standard_dsos() { slice.dsos = {program, stripped, kernel, module}; }
    std::string stack_text(const Profile& profile, const ProfileSample& sample) {
        std::string text;
        for (const auto function : profile.stacks[sample.stack].functions) {
            text += (text.empty() ? "" : " < ") + profile.functions[function].name;
        }
        return text;
    }

    std::vector<EventInfo> events;
    test::FakeSymbolizer symbolizer;
    Slice slice;
    DsoRef program = dso(1, "/bin/program");
    DsoRef stripped = dso(2, "/bin/stripped");
    DsoRef kernel = dso(3, "[kernel.kallsyms]", DsoKind::kKernel);
    DsoRef module = dso(4, "/lib/module");
    collector::HostFacts host;
};

TEST_F(ProfileBuilderTest, FunctionsMergeByNameDsoAndReason) {
    use_standard_dsos();
    const auto who = actor("a", "/system.slice/x.service");
    // Two addresses of work, the same callers: one stack of functions.
    entry(2, stack({{program->id, 0x210}, {program->id, 0x110}}), who, 1, 10);
    entry(2, stack({{program->id, 0x220}, {program->id, 0x114}}), who, 2, 20);
    // A function of the same name elsewhere is another.
    entry(2, stack({{module->id, 0x10}, {program->id, 0x114}}), who, 4, 40);
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    ASSERT_EQ(profile.functions.size(), 3U);
    ASSERT_EQ(profile.samples.size(), 2U);
    EXPECT_EQ(stack_text(profile, profile.samples[0]), "work < main");
    EXPECT_EQ(profile.samples[0].samples, 3U);
    EXPECT_EQ(profile.samples[0].weight, 30U);
    EXPECT_EQ(profile.samples[1].samples, 4U);
    EXPECT_EQ(profile.samples[0].event, 1U);  // side-band is no event of a profile
    EXPECT_EQ(profile.events[1].name, "cpu-clock");
}

TEST_F(ProfileBuilderTest, WhatWaitedIsSummedByCpuAndUnit) {
    slice.cpus.resize(2);
    slice.cpus[1].cpu = CpuId{1};
    slice.waits.run_delays = {{CpuId{0}, Nanoseconds(1000)}, {CpuId{1}, Nanoseconds(40)}, {CpuId{7}, Nanoseconds(5)}};
    slice.waits.throttled = {{"/a.slice/db.service", 50, 30, seconds(2)}, {"/lonely", 9, 0, {}}};
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    slice.waits.run_delays.resize(1);
    slice.waits.throttled = {{"/a.slice/db.service", 50, 50, seconds(3)}, {"/a.slice/web.service", 1, 1, seconds(9)}};
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    ASSERT_EQ(profile.cpus.size(), 2U) << "CPU 7 was not recorded";
    EXPECT_EQ(profile.cpus[0].run_delay_ns, 2000U);
    EXPECT_EQ(profile.cpus[1].run_delay_ns, 40U);
    EXPECT_EQ(profile.moments[0].cpus[0].run_delay_ns, 1000U);
    EXPECT_EQ(profile.moments[1].cpus[1].run_delay_ns, 0U);
    EXPECT_EQ(profile.throttled_units,
              (std::vector<ProfileThrottledUnit>{
                  {"web.service", 1, 1, seconds(9)}, {"db.service", 100, 80, seconds(5)}, {"/lonely", 9, 0, {}}}));
    EXPECT_TRUE(builder.build(host, "next").throttled_units.empty());
}

TEST_F(ProfileBuilderTest, ClonesAreTheFunctionTheyWereMadeOf) {
    ProfileTables tables;
    const auto whole = tables.function("f", "/bin/a", false, UnknownReason::kNone);
    EXPECT_EQ(tables.function("f.cold", "/bin/a", false, UnknownReason::kNone), whole);
    EXPECT_EQ(tables.function("f.isra.0", "/bin/a", false, UnknownReason::kNone), whole);
    EXPECT_EQ(tables.function("f.cold", "/bin/a", false, UnknownReason::kNone), whole);
    EXPECT_NE(tables.function("f.cold", "/bin/b", false, UnknownReason::kNone), whole);
    // Code made at run time has names of its own kind.
    const auto jit = tables.function("app.cold", "[jit]", false, UnknownReason::kNone);
    EXPECT_EQ(tables.function_at(jit).name, "app.cold");
    const auto only = tables.function("g.part.1", "/bin/a", true, UnknownReason::kNone);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(tables.function("g.llvm." + std::to_string(i), "/bin/a", true, UnknownReason::kNone), only);
    }
    EXPECT_EQ(tables.function_at(whole).variants, (std::vector<std::string>{"f.cold", "f.isra.0"}));
    EXPECT_EQ(tables.function_at(only).name, "g");
    EXPECT_EQ(tables.function_at(only).variants.size(), kMostVariants);
}

TEST_F(ProfileBuilderTest, UnknownFunctionsAreCountedByDsoAndReason) {
    use_standard_dsos();
    slice.dsos.push_back(dso(5, "//anon", DsoKind::kAnonymous));
    const auto who = actor("a", "");
    entry(2, stack({{stripped->id, 1}}), who, 1, 1);
    entry(2, stack({{stripped->id, 2}}), who, 1, 1);
    entry(2, stack({{program->id, 0x900}}), who, 1, 1);
    entry(2, stack({{DsoId{5}, 1}}), who, 1, 1);
    entry(2, stack({{DsoId{}, kFrameUnmapped}}), who, 1, 1);
    entry(2, stack({{DsoId{}, kFrameGuest}}), who, 1, 1);
    entry(2, stack({{DsoId{}, kFrameCut}}, kStackCut), who, 1, 1);
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    const ProfileFunction expected[] = {
        {"[unknown]", "/bin/stripped", false, UnknownReason::kNoSymbols},
        {"[unknown]", "/bin/program", false, UnknownReason::kOutsideSymbols},
        {"[unknown]", "//anon", false, UnknownReason::kAnonymous},
        {"[unknown]", "[unknown]", false, UnknownReason::kUnmapped},
        {"[guest]", "[guest]", false, UnknownReason::kNone},
        {"[cut]", "[cut]", false, UnknownReason::kNone},
    };
    ASSERT_EQ(profile.functions.size(), std::size(expected));
    for (const auto& function : expected) {
        EXPECT_NE(std::ranges::find(profile.functions, function), profile.functions.end()) << function.dso;
    }
    std::uint64_t samples = 0;
    for (const auto& sample : profile.samples) samples += sample.samples;
    EXPECT_EQ(samples, 7U);
}

// A build-id is the profile's where all frames of that name agree on it.
TEST_F(ProfileBuilderTest, BuildIdsAreKeptWhereTheyAreOne) {
    const auto built = [](DsoRef of, std::uint32_t id, const char* hex) {
        auto made = std::make_shared<Dso>(*of);
        made->id = DsoId{id};
        made->build_id = BuildId::from_hex(hex).value();
        return DsoRef(made);
    };
    const DsoRef one = built(program, 11, "0011aaff"), unread = program, other = built(module, 12, "01"),
                 replaced = built(module, 13, "02"), nameless = built(stripped, 14, "ab");
    slice.dsos = {one, unread, other, replaced, nameless};
    const auto who = actor("a", "");
    for (const auto& file : slice.dsos) entry(2, stack({{file->id, 0x110}}), who, 1, 1);
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    const std::vector<ProfileDso> expected{{"/bin/program", "0011aaff"}, {"/bin/stripped", "ab"}};
    EXPECT_EQ(profile.dsos, expected);
}

// A name that was not read yet is asked for again, one that is known is not.
TEST_F(ProfileBuilderTest, PendingNamesAreAskedForAgain) {
    use_standard_dsos();
    symbolizer.files["/bin/program"].reason = UnknownReason::kPending;
    entry(2, stack({{program->id, 0x210}, {kernel->id, 0xff10}}), actor("a", ""), 1, 1);
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    EXPECT_EQ(symbolizer.lookups, 2U);
    symbolizer.files["/bin/program"].reason = UnknownReason::kNone;
    (void)builder.add(slice);
    EXPECT_EQ(symbolizer.lookups, 3U);
    (void)builder.add(slice);
    EXPECT_EQ(symbolizer.lookups, 3U);
    const Profile profile = builder.build(host, "id");
    ASSERT_EQ(profile.samples.size(), 2U);
    EXPECT_EQ(profile.samples[1].samples, 2U);
    EXPECT_TRUE(profile.functions[profile.stacks[profile.samples[0].stack].functions[1]].kernel);
    EXPECT_EQ(symbolizer.windows, 1U);
    (void)builder.add(slice);
    EXPECT_EQ(symbolizer.windows, 2U);
}

TEST_F(ProfileBuilderTest, ContextsMergeByNameUnitAndContainer) {
    use_standard_dsos();
    const auto where = stack({{program->id, 0x110}});
    entry(2, where, actor("a", "/system.slice/x.service/child1", 1), 1, 1);
    entry(2, where, actor("a", "/system.slice/x.service/child2", 2), 1, 1);
    entry(2, where, actor("b", "/system.slice/x.service", 3), 1, 1);
    entry(2, where, actor("a", "", 4), 1, 1);
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    ASSERT_EQ(profile.contexts.size(), 3U);
    EXPECT_EQ(profile.contexts[0], (ProfileContext{.comm = "a", .unit = "x.service", .container = ""}));
    ASSERT_EQ(profile.samples.size(), 3U);
    EXPECT_EQ(profile.samples[0].samples, 2U);
}

TEST_F(ProfileBuilderTest, HotspotsAreSelfWeightWithoutIdle) {
    use_standard_dsos();
    const auto x = actor("a", "/system.slice/x.service");
    const auto x2 = actor("b", "/system.slice/x.service");
    const auto y = actor("a", "/system.slice/y.service");
    const auto work = stack({{program->id, 0x210}, {program->id, 0x110}});
    entry(2, work, x, 1, 10);
    entry(2, stack({{program->id, 0x250}}), x, 2, 20);
    entry(2, work, x2, 4, 40);
    entry(2, work, y, 8, 80);
    entry(1, work, y, 3, 3000);
    entry(2, work, y, 99, 990, true);
    entry(2, stack({{stripped->id, 5}}), x, 1, 10);
    ProfileBuilder builder(events, symbolizer);
    const SliceHotspots hotspots = builder.add(slice);
    std::map<std::tuple<std::uint32_t, std::string, std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>>
        sums;
    for (const auto& row : hotspots.rows) {
        auto& [samples, weight] =
            sums[{row.event, std::string(row.function), std::string(row.dso), std::string(row.unit)}];
        samples += row.samples;
        weight += row.weight;
        EXPECT_EQ(row.reason != UnknownReason::kNone, row.function == "[unknown]");
    }
    EXPECT_EQ(sums.size(), 4U);
    EXPECT_EQ((sums[{2, "work", "/bin/program", "x.service"}]), (std::pair<std::uint64_t, std::uint64_t>(7, 70)));
    EXPECT_EQ((sums[{2, "work", "/bin/program", "y.service"}]), (std::pair<std::uint64_t, std::uint64_t>(8, 80)));
    EXPECT_EQ((sums[{1, "work", "/bin/program", "y.service"}]), (std::pair<std::uint64_t, std::uint64_t>(3, 3000)));
    EXPECT_EQ((sums[{2, "[unknown]", "/bin/stripped", "x.service"}]), (std::pair<std::uint64_t, std::uint64_t>(1, 10)));

    const Profile profile = builder.build(host, "id");
    EXPECT_EQ(profile.events[1].samples, 115U);
    EXPECT_EQ(profile.events[1].idle_samples, 99U);
    EXPECT_EQ(profile.events[1].idle_weight, 990U);
    ASSERT_EQ(profile.moments.size(), 1U);
    ASSERT_EQ(profile.moments[0].top.size(), 3U);  // units are no part of it
    EXPECT_EQ(profile.moments[0].top[1].weight, 150U);
    EXPECT_EQ(profile.moments[0].top[1].event, 1U);
    EXPECT_EQ(profile.functions[profile.moments[0].top[1].function].name, "work");
}

TEST_F(ProfileBuilderTest, MomentsKeepTheTopOfEachEvent) {
    use_standard_dsos();
    auto& functions = symbolizer.files["/bin/program"].functions;
    functions.clear();
    const auto who = actor("a", "");
    for (std::uint64_t i = 0; i < 300; ++i) {
        functions[i * 16] = {16, "f" + std::to_string(i)};
        for (const std::uint32_t event : {1U, 2U}) entry(event, stack({{program->id, i * 16}}), who, 1, 1000 + i);
    }
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    const auto& top = profile.moments[0].top;
    ASSERT_EQ(top.size(), 2 * kTopFunctions);
    for (std::size_t i = 0; i < top.size(); ++i) {
        EXPECT_EQ(top[i].event, i / kTopFunctions);
        EXPECT_EQ(top[i].weight, 1299 - i % kTopFunctions);
    }
}

TEST_F(ProfileBuilderTest, BrokenStacksByTheDsoTheyBreakIn) {
    use_standard_dsos();
    const auto who = actor("a", "");
    entry(2, stack({{kernel->id, 0xff10}, {stripped->id, 1}, {program->id, 0x110}}), who, 10, 1);
    entry(2, stack({{stripped->id, 3}, {stripped->id, 4}}, kStackBroken, stripped->id), who, 5, 1);
    entry(2, stack({{DsoId{}, kFrameUnmapped}}, kStackBroken), who, 7, 1);
    entry(1, stack({{stripped->id, 5}}), who, 1000, 1);  // cycles do not count where a clock does
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    ASSERT_EQ(profile.broken.size(), 2U);
    for (const auto& row : profile.broken) {
        EXPECT_EQ(row, row.dso == "/bin/program" ? (BrokenStacks{"/bin/program", 20, 0})
                                                 : (BrokenStacks{"/bin/stripped", 30, 10}));
    }
}

TEST_F(ProfileBuilderTest, TimesHostAndCpus) {
    CpuSlice cpu;
    cpu.cpu = CpuId{2};
    cpu.clock_recorded = true;
    cpu.enabled = seconds(5);
    cpu.ticks_due = 495;
    cpu.samples = 495;
    cpu.mode_time[index_of(Mode::kUser)] = seconds(5);
    slice.cpus = {cpu};
    cpu.cpu = CpuId{0};
    Slice second = fresh_slice();
    second.start = MonotonicTime(seconds(105));
    second.end = MonotonicTime(seconds(110));
    second.wall_end = WallTime(seconds(1010));
    second.cpus = {cpu, slice.cpus[0]};
    second.maps_suspect = true;
    host.hostname = "h";
    host.cpus_online = 4;
    host.version = "perfvigil 9";
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    (void)builder.add(second);
    EXPECT_EQ(builder.slices(), 2U);
    const Profile profile = builder.build(host, "the id");
    EXPECT_EQ(builder.slices(), 0U);
    EXPECT_EQ(profile.id, "the id");
    EXPECT_EQ(profile.start, WallTime(seconds(1000)));
    EXPECT_EQ(profile.end, WallTime(seconds(1010)));
    EXPECT_EQ(profile.duration, seconds(10));
    EXPECT_EQ(profile.host.recorder, "perfvigil 9");
    EXPECT_TRUE(profile.maps_suspect);
    ASSERT_EQ(profile.cpus.size(), 2U);
    EXPECT_EQ(profile.cpus[0].sum.cpu, CpuId{0});
    EXPECT_EQ(profile.cpus[1].sum.enabled, seconds(10));
    EXPECT_EQ(profile.cpus[1].ledger.total, 10'000'000'000);
    EXPECT_EQ(profile.cpus[1].busy.ratio, 1);
    ASSERT_EQ(profile.moments.size(), 2U);
    EXPECT_EQ(profile.moments[0].totals.size(), 2U);
    EXPECT_EQ(profile.moments[1].cpus.size(), 2U);
    EXPECT_EQ(builder.build(host, "empty").duration, Nanoseconds{});
}

TEST_F(ProfileBuilderTest, WallTimeOfSlicesThatHaveNoneComesFromTheHost) {
    slice.wall_end = {};
    host.monotonic_reference = MonotonicTime(seconds(90));
    host.wall_reference = WallTime(seconds(2000));
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    EXPECT_EQ(profile.start, WallTime(seconds(2010)));
    EXPECT_EQ(profile.end, WallTime(seconds(2015)));
    (void)builder.add(slice);
    const Profile nowhen = builder.build({}, "id");
    EXPECT_EQ(nowhen.start, WallTime{});
    EXPECT_EQ(nowhen.end, WallTime{});
    EXPECT_EQ(nowhen.duration, seconds(5));
}

TEST_F(ProfileBuilderTest, TheRateIsOfTheNewestGeneration) {
    slice.totals[2].nominal_period = Nanoseconds(2004008);  // 10^9 / 499, truncated
    ProfileBuilder builder(events, symbolizer);
    (void)builder.add(slice);
    const Profile profile = builder.build(host, "id");
    EXPECT_EQ(profile.events[1].rate, 499U);
    EXPECT_EQ(profile.events[1].nominal_period, Nanoseconds(2004008));
    EXPECT_EQ(profile.events[1].unit, WeightUnit::kNanoseconds);
    EXPECT_EQ(profile.events[0].unit, WeightUnit::kCycles);
    EXPECT_EQ(profile.events[0].rate, 99U);
}

// --- warnings

class ProfileWarningsTest : public ProfileBuilderTest {
protected:
    Profile build() {
        ProfileBuilder builder(events, symbolizer);
        (void)builder.add(slice);
        return builder.build(host, "id");
    }
    static bool mentions(const std::vector<std::string>& lines, std::string_view words) {
        return std::ranges::any_of(lines, [&](const auto& line) { return line.find(words) != std::string::npos; });
    }
    static bool is_degraded(const Profile& profile, std::string_view reason) {
        return std::ranges::any_of(profile.degraded, [&](const auto& d) { return d.reason == reason; });
    }
};

TEST_F(ProfileWarningsTest, AGoodRecordingHasNone) {
    slice.totals[2].samples = 1000;
    slice.totals[2].lost = 10;  // not over 1 %
    const Profile profile = build();
    EXPECT_TRUE(profile.warnings.empty());
    EXPECT_TRUE(profile.degraded.empty());
}

// Observations say it, with figures (lost_samples, partial_coverage, throttled_clock, no_pmu).
TEST_F(ProfileWarningsTest, WhatObservationsSayIsNotSaidTwice) {
    slice.totals[2].samples = 900;
    slice.totals[2].lost = 100;
    slice.totals[2].throttles = 2;
    CpuSlice cpu;
    cpu.clock_recorded = true;
    cpu.ticks_due = 990;
    cpu.enabled = seconds(10);
    cpu.samples = 20;
    cpu.throttled = seconds(1);
    slice.cpus.push_back(cpu);
    events[1] = {"cycles", EventRole::kSampling, test::cpu_clock_attr()};
    const Profile profile = build();
    EXPECT_THAT(profile.warnings, testing::IsEmpty());
    std::vector<std::string> ids;
    for (const auto& observation : observe(profile)) ids.push_back(observation.id);
    EXPECT_THAT(ids, testing::IsSupersetOf({"lost_samples", "partial_coverage", "throttled_clock", "no_pmu"}));
}

TEST_F(ProfileWarningsTest, EachConditionSaysItself) {
    slice.maps_suspect = true;
    slice.lost_side_band = 12;
    slice.cut_frames = 1;
    slice.late_records = 3;
    slice.idle_by_task = true;
    slice.totals[2].throttles = 2;
    CpuSlice cpu;
    cpu.cycles_recorded = true;
    cpu.cycles_scaled = true;
    cpu.throttled = std::chrono::milliseconds(1500);
    slice.cpus = {cpu};
    const Profile profile = build();
    EXPECT_TRUE(mentions(profile.warnings, "12 records of processes and mappings were lost"));
    EXPECT_TRUE(mentions(profile.warnings, "1 frame was dropped"));
    EXPECT_TRUE(mentions(profile.warnings, "3 records came after"));
    EXPECT_TRUE(mentions(profile.warnings, "its counts are scaled"));
    EXPECT_TRUE(is_degraded(profile, "idle_by_task"));
    EXPECT_EQ(profile.warnings.size(), 4U);
    slice.cpus.clear();
    EXPECT_TRUE(mentions(build().warnings, "throttled cpu-clock 2 times")) << "no ledger says it";
}

TEST_F(ProfileWarningsTest, TwoClocksAreAMachineWithoutAPmu) {
    events[1] = {"cycles", EventRole::kSampling, test::cpu_clock_attr()};  // by attr, whatever its name
    Profile profile = build();
    EXPECT_TRUE(is_degraded(profile, "no_pmu"));
    host.degraded = {{"no_pmu", "said by the recorder", ""}};
    profile = build();
    EXPECT_EQ(profile.degraded.size(), 1U);
}

TEST_F(ProfileWarningsTest, FrequencyWithoutPeriodsWeighsNothing) {
    events[1].attr.sample_type &= ~std::uint64_t{collector::kSamplePeriod};
    EXPECT_TRUE(mentions(build().warnings, "cycles carry no periods"));
}

// --- a whole recording

TEST(ProfileBuilder, ASyntheticRecordingIsNamedWhole) {
    test::SyntheticStream stream({.slices = 3});
    test::SliceCollector sink(stream.events(), KernelText(stream.host().text_ranges));
    stream.run(sink);
    test::FakeSymbolizer symbolizer;
    ProfileBuilder builder(stream.events().events(), symbolizer);
    std::uint64_t hotspots = 0;
    for (const auto& slice : sink.slices) {
        for (const auto& row : builder.add(*slice).rows) hotspots += row.samples;
    }
    const Profile profile = builder.build(stream.host(), "id");
    std::uint64_t samples = 0, idle = 0;
    for (const auto& sample : profile.samples) {
        samples += sample.samples;
        idle += sample.idle ? sample.samples : 0;
        ASSERT_FALSE(profile.stacks[sample.stack].functions.empty());
    }
    std::uint64_t in_events = 0, idle_in_events = 0;
    for (const auto& event : profile.events) {
        in_events += event.samples;
        idle_in_events += event.idle_samples;
    }
    EXPECT_EQ(samples, in_events);
    EXPECT_EQ(idle, idle_in_events);
    EXPECT_EQ(hotspots, samples - idle);
    for (const auto& function : profile.functions) EXPECT_EQ(function.reason, UnknownReason::kNone) << function.name;
    std::uint64_t truth = 0;
    for (const auto& slice : stream.truth()) {
        for (const auto& cpu : slice) truth += cpu.samples;
    }
    EXPECT_EQ(profile.events[1].samples, truth);
    EXPECT_EQ(profile.duration, seconds(15));
    EXPECT_EQ(profile.cpus.size(), 2U);
}

}  // namespace
}  // namespace perfvigil::analyzer
