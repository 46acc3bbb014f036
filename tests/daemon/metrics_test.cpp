// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/metrics.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/kernel_accounts.hpp"
#include "tests/support/clock_slice.hpp"
#include "tests/support/exposition.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::daemon {
namespace {

using analyzer::Mode;
using analyzer::UnknownReason;
using collector::EventInfo;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Exposition;
using test::kTick;
using Labels = std::map<std::string, std::string>;

EventInfo event(std::string name, std::uint32_t type, std::uint64_t config) {
    EventInfo info;
    info.name = std::move(name);
    info.attr.type = type;
    info.attr.config = config;
    info.attr.sample_period_or_freq = 99;
    info.attr.set(collector::kFlagFreq);
    return info;
}

std::vector<EventInfo> usual_events() {
    std::vector<EventInfo> events{event("cycles", collector::kTypeHardware, collector::kHwCpuCycles),
                                  event("cpu-clock", collector::kTypeSoftware, collector::kSwCpuClock),
                                  event("dummy:HG", collector::kTypeSoftware, collector::kSwDummy)};
    events.back().role = collector::EventRole::kSideBand;
    return events;
}

// /proc/stat was read, too.
analyzer::CpuSlice cpu_slice(std::uint32_t cpu, std::uint64_t user, std::uint64_t kernel = 0,
                             std::uint64_t softirq = 0) {
    auto slice = test::cpu_slice(cpu, user, kernel, softirq);
    slice.times_known = true;
    return slice;
}

collector::DsoRef make_dso(std::uint32_t id, collector::DsoKind kind, std::string path) {
    collector::Dso dso;
    dso.id = collector::DsoId{id};
    dso.kind = kind;
    dso.path = std::move(path);
    return std::make_shared<const collector::Dso>(std::move(dso));
}

// A chain through these binaries, innermost first; broken in one of them or whole.
void add_stack(analyzer::Slice& slice, const std::vector<std::uint32_t>& dsos, collector::DsoId broken_in = {}) {
    const std::uint8_t flags = broken_in.value != 0 ? analyzer::kStackBroken : 0;
    slice.stacks.push_back({.first = static_cast<std::uint32_t>(slice.stack_frames.size()),
                            .depth = static_cast<std::uint16_t>(dsos.size()),
                            .flags = flags,
                            .broken_in = broken_in});
    for (const std::uint32_t dso : dsos) {
        slice.stack_frames.push_back(static_cast<std::uint32_t>(slice.frames.size()));
        slice.frames.push_back({collector::DsoId{dso}, 0x10});
    }
}

class MetricsTest : public testing::Test {
protected:
    // Five seconds later, with these CPUs and rows.
    void add(std::vector<analyzer::CpuSlice> cpus, analyzer::SliceHotspots hotspots = {}) {
        slice.start = slice.end;
        slice.end += seconds(5);
        slice.wall_end += seconds(5);
        slice.cpus = std::move(cpus);
        metrics->add_slice(slice, hotspots, events, MonotonicTime::min());
    }
    Exposition exposition() {
        auto parsed = test::parse_exposition(metrics->exposition());
        EXPECT_TRUE(parsed) << parsed.error().message;
        return parsed ? *std::move(parsed) : Exposition{};
    }
    void use(MetricsOptions options) { metrics = std::make_unique<Metrics>(std::move(options)); }

    MetricsTest() {
        slice.end = MonotonicTime(seconds(1000));
        slice.wall_end = WallTime(seconds(1'800'000'000));
    }

    analyzer::Slice slice;
    std::vector<EventInfo> events = usual_events();
    std::unique_ptr<Metrics> metrics = std::make_unique<Metrics>(MetricsOptions{.version = "1.2.3", .revision = "abc"});
};

analyzer::SliceHotspots::Row row(std::string_view function, std::string_view dso, std::string_view unit,
                                 std::uint64_t samples, std::uint32_t event = 1) {
    return {.function = function,
            .dso = dso,
            .unit = unit,
            .event = event,
            .samples = samples,
            .weight = event == 1 ? samples * static_cast<std::uint64_t>(kTick.count()) : samples * 1000};
}

// The values of `exposition`, so that a test can say "this number is published somewhere under that name".
void expect_values(const Exposition& exposition, const std::vector<std::tuple<std::string, Labels, double>>& expected) {
    for (const auto& [name, labels, value] : expected) {
        const auto found = exposition.value("perfvigil_" + name, labels);
        std::string shown = name;
        for (const auto& [label, text] : labels) shown += " " + label + "=" + text;
        ASSERT_TRUE(found) << shown << " is not published";
        EXPECT_DOUBLE_EQ(*found, value) << shown;
    }
}

TEST_F(MetricsTest, BusyByProcStatOutsideOurIntervalIsADisagreement) {
    auto cpu = cpu_slice(0, 100);  // a fifth
    cpu.times.user = 4'000'000'000;
    cpu.times.idle = 1'000'000'000;
    add({cpu});
    EXPECT_NEAR(exposition().value("perfvigil_cpu_busy_disagreement_ratio", {{"cpu", "0"}}).value_or(0), 0.53, 0.02);
    cpu.times.user = 1'000'000'000;
    cpu.times.idle = 4'000'000'000;
    add({cpu});
    EXPECT_EQ(exposition().value("perfvigil_cpu_busy_disagreement_ratio", {{"cpu", "0"}}), 0);
}

TEST_F(MetricsTest, ThrottledUnitsAreCountedUnderTheirNames) {
    slice.waits.throttled = {{"/system.slice/db.service", 20, 10, seconds(2)},
                             {"/user.slice/user-1000.slice/user@1000.service", 9, 5, seconds(1)}};
    for (int i = 0; i < 10; ++i) add({cpu_slice(0, 100)});
    const Exposition now = exposition();
    EXPECT_DOUBLE_EQ(now.sum("perfvigil_unit_throttled_seconds_total"), 30);
    EXPECT_GT(now.value("perfvigil_unit_throttled_seconds_total", {{"unit", "db.service"}}).value_or(0), 10);
    EXPECT_GT(now.value("perfvigil_unit_throttled_seconds_total", {{"unit", "user@.service"}}).value_or(0), 5);
}

// --- no plain counter stays unpublished: the bindings below stop compiling when a field is added --------------------

TEST_F(MetricsTest, EveryCounterOfTheSessionIsPublished) {
    collector::SessionCounters counters;
    auto& [records, samples, lost_sample, lost_side_band, late, malformed, unknown, duplicate, resyncs, gone, back,
           ring_bytes] = counters;
    records = 1009, samples = 13, lost_sample = 17, lost_side_band = 19, late = 23, malformed = 29, unknown = 31,
    duplicate = 37, resyncs = 41, gone = 43, back = 47, ring_bytes = 53;
    metrics->set({.session = counters});
    expect_values(exposition(), {{"records_total", {{"kind", "sample"}}, 13},
                                 {"records_total", {{"kind", "other"}}, 1009 - 13},
                                 {"lost_records_total", {{"kind", "sample"}}, 17},
                                 {"lost_records_total", {{"kind", "side_band"}}, 19},
                                 {"late_records_total", {}, 23},
                                 {"malformed_records_total", {}, 29},
                                 {"unknown_id_records_total", {}, 31},
                                 {"duplicate_samples_total", {}, 37},
                                 {"resyncs_total", {}, 41},
                                 {"cpu_hotplug_total", {{"direction", "offline"}}, 43},
                                 {"cpu_hotplug_total", {{"direction", "online"}}, 47},
                                 {"ring_bytes", {}, 53}});
}

TEST_F(MetricsTest, EveryNumberOfTheDaemonIsPublished) {
    DaemonNumbers numbers;
    auto& [degraded, session, frequency, overhead, budgets, process, windows, store, drops, steps, on_demand, triggers,
           shipped, analysis] = numbers;
    degraded = {{"no_pmu", "cycles: ENOENT", "none"}};
    frequency = 99;
    analysis = milliseconds(7);
    auto& [processes, sampling, cost, assumed] = overhead;
    processes = milliseconds(1300), sampling = milliseconds(1700), cost = std::chrono::microseconds(12), assumed = true;
    budgets = {{"cpu", 0.005, 0.01}, {"memory", 30, 60}, {"store", 5, 0}};
    auto& [cpu_seconds, resident, virtual_bytes, fds, max_fds, threads, start] = process;
    cpu_seconds = 1.5, resident = 59, virtual_bytes = 61, fds = 67, max_fds = 71, threads = 4, start = 1.7e9;
    auto& [stored, partial, dropped, failed] = windows;
    stored = 73, partial = 79, dropped = 83, failed = 89;
    auto& [profiles, captures, index, frozen] = store;
    profiles = 97, captures = 101, index = 103, frozen = 139;
    triggers = {{"busy", 149, 151}, {"loss", 0, 1}};
    shipped = {.sent = 163, .refused = 167, .dropped = 173, .retries = 179, .waiting = 181};
    auto& [slices_dropped, files_dropped, captures_dropped] = drops;
    slices_dropped = 107, files_dropped = 109, captures_dropped = 113;
    for (std::size_t knob = 0; knob < kKnobs; ++knob) {
        for (std::size_t cause = 0; cause < kCauses; ++cause) steps[knob][cause] = 10 * (knob + 1) + cause;
    }
    for (std::size_t result = 0; result < kCaptureResultNames.size(); ++result) on_demand[0][result] = 127 + result;
    on_demand[1][0] = 157;
    metrics->set(numbers);
    slice.waits.run_delays = {{CpuId{0}, milliseconds(123)}};
    add({cpu_slice(0, 100)});

    const Exposition now = exposition();
    expect_values(now, {{"degraded", {{"reason", "no_pmu"}}, 1},
                        {"sampling_frequency_hertz", {{"event", "cycles"}}, 99},
                        {"slice_analysis_seconds", {}, 0.007},
                        {"overhead_cpu_seconds_total", {{"where", "user"}}, 1.3},
                        {"overhead_cpu_seconds_total", {{"where", "kernel"}}, 1.7},
                        {"sample_cost_seconds", {{"source", "assumed"}}, 12e-6},
                        {"recording_steps_total", {{"what", "sample_ring"}, {"cause", "loss"}}, 10},
                        {"recording_steps_total", {{"what", "captures"}, {"cause", "budget"}}, 31},
                        {"recording_steps_total", {{"what", "max_stack"}, {"cause", "calm"}}, 52},
                        {"cpu_run_delay_seconds_total", {{"cpu", "0"}}, 0.123},
                        {"budget_ratio", {{"resource", "cpu"}}, 0.5},
                        {"budget_ratio", {{"resource", "memory"}}, 0.5},
                        {"captures_total", {{"trigger", "request"}, {"result", "complete"}}, 127},
                        {"captures_total", {{"trigger", "request"}, {"result", "refused"}}, 133},
                        {"captures_total", {{"trigger", "rule"}, {"result", "complete"}}, 157},
                        {"triggers_fired_total", {{"rule", "busy"}}, 149},
                        {"triggers_fired_total", {{"rule", "loss"}}, 0},
                        {"triggers_suppressed_total", {{"rule", "busy"}}, 151},
                        {"triggers_suppressed_total", {{"rule", "loss"}}, 1},
                        {"windows_total", {{"result", "stored"}}, 73},
                        {"windows_total", {{"result", "partial"}}, 79},
                        {"windows_total", {{"result", "dropped"}}, 83},
                        {"windows_total", {{"result", "failed"}}, 89},
                        {"store_bytes", {{"kind", "profiles"}}, 97},
                        {"store_bytes", {{"kind", "captures"}}, 101},
                        {"store_bytes", {{"kind", "index"}}, 103},
                        {"store_bytes", {{"kind", "frozen"}}, 139},
                        {"shipped_windows_total", {{"result", "sent"}}, 163},
                        {"shipped_windows_total", {{"result", "refused"}}, 167},
                        {"shipped_windows_total", {{"result", "dropped"}}, 173},
                        {"ship_retries_total", {}, 179},
                        {"ship_waiting_windows", {}, 181},
                        {"queue_drops_total", {{"queue", "slices"}}, 107},
                        {"queue_drops_total", {{"queue", "files"}}, 109},
                        {"queue_drops_total", {{"queue", "captures"}}, 113}});
    EXPECT_FALSE(now.value("perfvigil_budget_ratio", {{"resource", "store"}})) << "no limit, no ratio";
    EXPECT_EQ(now.value("process_cpu_seconds_total"), 1.5);
    EXPECT_EQ(now.value("process_resident_memory_bytes"), 59);
    EXPECT_EQ(now.value("process_virtual_memory_bytes"), 61);
    EXPECT_EQ(now.value("process_open_fds"), 67);
    EXPECT_EQ(now.value("process_max_fds"), 71);
    EXPECT_EQ(now.value("process_threads"), 4);
    EXPECT_EQ(now.value("process_start_time_seconds"), 1.7e9);
}

TEST_F(MetricsTest, EveryNumberOfTheEventsIsPublished) {
    analyzer::EventTotals totals;
    auto& [samples, weight, lost, shared, throttles, throttled, period, left_out_samples, left_out_weight] = totals;
    samples = 11, weight = 12000, lost = 13, shared = false, throttles = 14, throttled = seconds(3), period = {};
    left_out_samples = left_out_weight = 0;  // the daemon selects no samples
    slice.totals = {
        totals,
        {.samples = 21, .weight = 22, .lost = 23, .lost_is_shared = true, .throttles = 24, .nominal_period = kTick}};
    add({});
    add({});
    const Exposition now = exposition();
    expect_values(now, {{"samples_total", {{"event", "cycles"}}, 22},
                        {"samples_total", {{"event", "cpu-clock"}}, 42},
                        {"sampled_events_total", {{"event", "cycles"}}, 24000},
                        {"lost_samples_total", {{"event", "cycles"}}, 26},
                        {"lost_samples_total", {{"event", "cpu-clock"}}, 0},
                        {"lost_samples_total", {{"event", "(any)"}}, 46},
                        {"throttles_total", {{"event", "cycles"}}, 28},
                        {"throttles_total", {{"event", "cpu-clock"}}, 48},
                        {"throttled_seconds_total", {{"event", "cycles"}}, 6},
                        {"throttled_seconds_total", {{"event", "cpu-clock"}}, 0},
                        {"sampling_frequency_hertz", {{"event", "cycles"}}, 99},
                        {"sampling_frequency_hertz", {{"event", "cpu-clock"}}, 1e9 / 10101010}});
    EXPECT_TRUE(now.family("perfvigil_samples_total").size() == 2) << "side-band events take no samples";
}

TEST_F(MetricsTest, EveryNumberOfASliceIsPublished) {
    slice.late_records = 3, slice.lost_side_band = 5, slice.cut_frames = 7;
    slice.maps_suspect = slice.clock_stepped = slice.idle_by_task = true;
    analyzer::CpuSlice numbers;
    auto& [cpu, clock_recorded, estimated, enabled, due, samples, idle_samples, mode_time, irq_in_idle, lost, lost_time,
           throttled, cycles_recorded, counted, scaled, sampled, cycles_samples, cycles_idle, cycles_lost,
           cycles_throttled, cycles_absent, times_known, times] = numbers;
    clock_recorded = true, cycles_recorded = true, times_known = true;
    enabled = seconds(5), due = 495, samples = 260, idle_samples = 100;
    mode_time = {seconds(1), milliseconds(300), milliseconds(200), milliseconds(1000)};
    irq_in_idle = milliseconds(50), lost = 9, lost_time = milliseconds(90), throttled = milliseconds(60);
    times.idle = 2'500'000'000, times.steal = 400'000'000, times.user = 2'100'000'000;
    counted = 6'000'000'000, sampled = 5'000'000'000, cycles_idle = 1'000'000'000;
    add({numbers});
    const Exposition now = exposition();
    // 5 s = 1.45 busy + 1 idle + 0.05 irq + 0.09 lost + 0.06 throttled + 1.5 unsampled + 0.4 stolen + 0.45
    const double disagreement = analyzer::busy_disagreement(numbers).value();
    expect_values(now, {{"cpu_busy_disagreement_ratio", {{"cpu", "0"}}, disagreement},
                        {"late_records_total", {}, 3},
                        {"lost_records_total", {{"kind", "side_band"}}, 5},
                        {"cut_frames_total", {}, 7},
                        {"slices_total", {}, 1},
                        {"slices_marked_total", {{"mark", "maps_suspect"}}, 1},
                        {"slices_marked_total", {{"mark", "clock_stepped"}}, 1},
                        {"slices_marked_total", {{"mark", "idle_by_task"}}, 1},
                        {"last_slice_end_timestamp_seconds", {}, 1'800'000'005},
                        {"clock_ledger_seconds_total", {{"term", "busy"}}, 1.45},
                        {"clock_ledger_seconds_total", {{"term", "idle"}}, 1},
                        {"clock_ledger_seconds_total", {{"term", "irq_in_idle"}}, 0.05},
                        {"clock_ledger_seconds_total", {{"term", "lost"}}, 0.09},
                        {"clock_ledger_seconds_total", {{"term", "throttled"}}, 0.06},
                        {"clock_ledger_seconds_total", {{"term", "idle_unsampled"}}, 1.5},
                        {"clock_ledger_seconds_total", {{"term", "stolen"}}, 0.4},
                        {"clock_ledger_seconds_total", {{"term", "unexplained"}}, 0.45},
                        {"clock_enabled_seconds_total", {}, 5},
                        {"clock_ticks_due_total", {}, 495},
                        {"cpu_seconds_total", {{"cpu", "0"}, {"mode", "user"}}, 1},
                        {"cpu_seconds_total", {{"cpu", "0"}, {"mode", "kernel"}}, 0.3},
                        {"cpu_seconds_total", {{"cpu", "0"}, {"mode", "softirq"}}, 0.2},
                        {"cpu_seconds_total", {{"cpu", "0"}, {"mode", "idle"}}, 2.5},
                        {"cpu_seconds_total", {{"cpu", "0"}, {"mode", "stolen"}}, 0.4},
                        {"cpu_seconds_total", {{"cpu", "0"}, {"mode", "unknown"}}, 0.6},
                        {"cycles_counted_total", {}, 6e9},
                        {"cycles_sampled_total", {}, 5e9},
                        {"cycles_idle_total", {}, 1e9}});
    EXPECT_DOUBLE_EQ(now.sum("perfvigil_cpu_seconds_total"), 5) << "the modes of a CPU are all of its time";
    EXPECT_DOUBLE_EQ(now.sum("perfvigil_clock_ledger_seconds_total"), 5);
}

// --- meanings -------------------------------------------------------------------------------------------------------

TEST_F(MetricsTest, SaysWhatItIsBeforeTheFirstSlice) {
    const Exposition now = exposition();
    EXPECT_EQ(now.value("perfvigil_build_info", {{"version", "1.2.3"}, {"revision", "abc"}}), 1);
    EXPECT_EQ(now.value("perfvigil_slices_total"), 0);
    EXPECT_TRUE(now.family("perfvigil_cpu_busy_ratio").empty());
    EXPECT_FALSE(now.types.contains("perfvigil_degraded")) << "a family without series is left out";
}

TEST_F(MetricsTest, DegradedGoesToZeroAndStays) {
    metrics->set({.degraded = {{"no_pmu", "", ""}, {"read_only_store", "", ""}}});
    metrics->set({.degraded = {{"no_pmu", "", ""}}});
    EXPECT_EQ(exposition().value("perfvigil_degraded", {{"reason", "no_pmu"}}), 1);
    EXPECT_EQ(exposition().value("perfvigil_degraded", {{"reason", "read_only_store"}}), 0);
}

TEST_F(MetricsTest, UnexplainedNeverFallsAndForgetsWhatIsMadeUpFor) {
    const auto with_rest = [](Nanoseconds rest) {
        auto cpu = cpu_slice(0, 495);
        cpu.enabled += rest;
        return cpu;
    };
    const auto shown = [&] {
        return exposition().value("perfvigil_clock_ledger_seconds_total", {{"term", "unexplained"}});
    };
    add({with_rest(milliseconds(-10))});
    EXPECT_EQ(shown(), 0);
    add({with_rest(milliseconds(10))});
    EXPECT_EQ(shown(), 0) << "it only makes up for the slice before";
    add({with_rest(milliseconds(30))});
    EXPECT_DOUBLE_EQ(shown().value(), 0.03);
    add({with_rest(milliseconds(-20))});
    EXPECT_DOUBLE_EQ(shown().value(), 0.03);
    add({with_rest(milliseconds(15))});
    EXPECT_DOUBLE_EQ(shown().value(), 0.03);
    add({with_rest(milliseconds(10))});
    EXPECT_DOUBLE_EQ(shown().value(), 0.035);
    EXPECT_DOUBLE_EQ(exposition().value("perfvigil_cpu_seconds_total", {{"cpu", "0"}, {"mode", "unknown"}}).value(),
                     0.035);
}

TEST_F(MetricsTest, BusyHasItsIntervalAndGoesWithItsCpu) {
    add({cpu_slice(0, 90, 9), cpu_slice(1, 0)});
    Exposition now = exposition();
    EXPECT_DOUBLE_EQ(now.value("perfvigil_cpu_busy_ratio", {{"cpu", "0"}}).value(), 0.2);
    const auto interval = analyzer::busy_of(cpu_slice(0, 90, 9)).interval;
    EXPECT_DOUBLE_EQ(now.value("perfvigil_cpu_busy_ratio_low", {{"cpu", "0"}}).value(), interval.low);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_cpu_busy_ratio_high", {{"cpu", "0"}}).value(), interval.high);
    EXPECT_EQ(now.value("perfvigil_cpu_busy_ratio", {{"cpu", "1"}}), 0);

    add({cpu_slice(0, 10)});  // CPU 1 went offline
    now = exposition();
    EXPECT_FALSE(now.value("perfvigil_cpu_busy_ratio", {{"cpu", "1"}}));
    EXPECT_DOUBLE_EQ(now.value("perfvigil_cpu_seconds_total", {{"cpu", "1"}, {"mode", "idle"}}).value(),
                     495 * to_seconds(kTick));
}

TEST_F(MetricsTest, EffectiveFrequencyOnlyWhereBusy) {
    auto busy = cpu_slice(0, 495);
    busy.cycles_recorded = true;
    busy.cycles_counted = 14'850'000'000;
    auto idle = cpu_slice(1, 2);
    idle.cycles_recorded = true;
    idle.cycles_counted = 1'000'000;
    add({busy, idle});
    EXPECT_NEAR(exposition().value("perfvigil_cpu_effective_hertz", {{"cpu", "0"}}).value(), 2.97e9, 1e7);
    EXPECT_FALSE(exposition().value("perfvigil_cpu_effective_hertz", {{"cpu", "1"}}));
}

TEST_F(MetricsTest, EffectiveFrequencyIsAbsentWhereIdleCountsCycles) {
    const auto counting = [](std::uint32_t number, std::uint64_t busy) {
        auto cpu = cpu_slice(number, busy);
        cpu.cycles_recorded = true;
        cpu.cycles_counted = 5'000'000'000;  // a billion a second, whatever it does
        return cpu;
    };
    add({counting(0, 495), counting(1, 200), counting(2, 2)});
    const Exposition now = exposition();
    EXPECT_NEAR(now.value("perfvigil_cpu_effective_hertz", {{"cpu", "0"}}).value(), 1e9, 1e7);
    EXPECT_FALSE(now.value("perfvigil_cpu_effective_hertz", {{"cpu", "1"}})) << "would be 2.5 GHz";
    EXPECT_FALSE(now.value("perfvigil_cpu_effective_hertz", {{"cpu", "2"}}));
}

// What a throttled counter missed of a CPU's work nobody knows, unless the CPU worked all the time.
TEST_F(MetricsTest, EffectiveFrequencyIsAbsentWhereCyclesWereThrottled) {
    const auto throttled = [](std::uint32_t number, std::uint64_t busy) {
        auto cpu = cpu_slice(number, busy);
        cpu.cycles_recorded = true;
        cpu.cycles_throttled = cpu.enabled / 5;
        cpu.cycles_counted = static_cast<std::uint64_t>(2.4 * static_cast<double>(cpu.enabled.count()));
        return cpu;
    };
    add({throttled(0, 495), throttled(1, 300)});
    const Exposition now = exposition();
    EXPECT_NEAR(now.value("perfvigil_cpu_effective_hertz", {{"cpu", "0"}}).value(), 3e9, 1e7);
    EXPECT_FALSE(now.value("perfvigil_cpu_effective_hertz", {{"cpu", "1"}}));
}

TEST_F(MetricsTest, LargeHostsShowTheWholeAndTheExtremes) {
    use({.max_cpus = 2});
    add({cpu_slice(0, 99), cpu_slice(1, 198)});
    EXPECT_EQ(exposition().family("perfvigil_cpu_busy_ratio").size(), 2U);
    add({cpu_slice(0, 99), cpu_slice(1, 198), cpu_slice(2, 495)});
    const Exposition now = exposition();
    EXPECT_EQ(now.family("perfvigil_cpu_busy_ratio").size(), 3U);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_cpu_busy_ratio", {{"cpu", "min"}}).value(), 0.2);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_cpu_busy_ratio", {{"cpu", "max"}}).value(), 1);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_cpu_busy_ratio", {{"cpu", "all"}}).value(), 1.6 / 3);
    EXPECT_EQ(now.family("perfvigil_cpu_seconds_total").size(), 6U);
    EXPECT_DOUBLE_EQ(now.sum("perfvigil_cpu_seconds_total"), 5 * 495 * to_seconds(kTick));
}

TEST_F(MetricsTest, HotspotsOfEachKindAddUp) {
    const analyzer::SliceHotspots hotspots{{
        row("std::vector<int>::push_back(int const&)", "/usr/lib/libfoo.so", "web@1.service", 50),
        row("std::vector<long>::push_back(int const&)", "/usr/lib/libfoo.so", "web@2.service", 30),
        row("do_syscall_64", "[kernel.kallsyms]", "", 20),
        row("std::vector<int>::push_back(int const&)", "/usr/lib/libfoo.so", "web@1.service", 7, 0),
    }};
    auto cpu = cpu_slice(0, 100);
    cpu.cycles_recorded = true;
    add({cpu}, hotspots);
    Exposition now = exposition();
    const Labels push{{"function", "std::vector<>::push_back(int const&)"}, {"dso", "libfoo.so"}};
    const Labels other{{"function", "(other)"}, {"dso", "(other)"}};
    const double tick = to_seconds(kTick);
    EXPECT_EQ(now.value("perfvigil_function_cpu_seconds_total", push), 0) << "announced";
    EXPECT_DOUBLE_EQ(now.value("perfvigil_function_cpu_seconds_total", other).value(), 100 * tick);
    add({cpu}, hotspots);
    now = exposition();
    EXPECT_DOUBLE_EQ(now.value("perfvigil_function_cpu_seconds_total", push).value(), 80 * tick);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_dso_cpu_seconds_total", {{"dso", "libfoo.so"}}).value(), 80 * tick);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_dso_cpu_seconds_total", {{"dso", "[kernel.kallsyms]"}}).value(), 20 * tick);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_unit_cpu_seconds_total", {{"unit", "web@.service"}}).value(), 80 * tick);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_unit_cpu_seconds_total", {{"unit", "(none)"}}).value(), 20 * tick);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_function_cycles_total", push).value(), 7000);
    for (const std::string family : {"function", "dso", "unit"}) {
        EXPECT_DOUBLE_EQ(now.sum("perfvigil_" + family + "_cpu_seconds_total"), 200 * tick) << family;
    }
}

TEST_F(MetricsTest, NoCyclesNoCyclesFamilies) {
    events.erase(events.begin());
    add({cpu_slice(0, 10)}, {{row("f", "/bin/a", "", 10, 0)}});
    EXPECT_FALSE(exposition().types.contains("perfvigil_function_cycles_total"));
    EXPECT_FALSE(exposition().types.contains("perfvigil_cycles_counted_total"));
    EXPECT_DOUBLE_EQ(exposition().sum("perfvigil_function_cpu_seconds_total"), 10 * 1000 * 1e-9)
        << "event 0 is the clock";
}

TEST_F(MetricsTest, UnresolvedRatiosByReasonAddUp) {
    auto unknown = row("[unknown]", "/bin/stripped", "", 30);
    unknown.reason = UnknownReason::kNoSymbols;
    auto gone = row("[unknown]", "/bin/gone", "", 10);
    gone.reason = UnknownReason::kNoFile;
    add({cpu_slice(0, 100)}, {{unknown, gone, row("f", "/bin/a", "", 60)}});
    Exposition now = exposition();
    const Labels stripped{{"reason", std::string(reason_name(UnknownReason::kNoSymbols))}};
    EXPECT_DOUBLE_EQ(now.value("perfvigil_unresolved_ratio", stripped).value(), 0.3);
    EXPECT_DOUBLE_EQ(now.sum("perfvigil_unresolved_ratio"), 0.4);
    // A minute of named samples later half of what was unresolved weighs nothing any more.
    for (int i = 0; i < 12; ++i) add({cpu_slice(0, 100)}, {{row("f", "/bin/a", "", 100)}});
    now = exposition();
    EXPECT_LT(now.value("perfvigil_unresolved_ratio", stripped).value(), 0.03);
    EXPECT_GT(now.value("perfvigil_unresolved_ratio", stripped).value(), 0.005);
}

TEST_F(MetricsTest, BrokenStacksByTheBinaryTheyBreakIn) {
    using collector::DsoId;
    using collector::DsoKind;
    slice.dsos = {make_dso(1, DsoKind::kKernel, "[kernel.kallsyms]"), make_dso(2, DsoKind::kFile, "/bin/app"),
                  make_dso(3, DsoKind::kFile, "/lib/libnofp.so")};
    add_stack(slice, {1, 2, 2});
    add_stack(slice, {3}, collector::DsoId{3});
    add_stack(slice, {3, 2});
    const auto entry = [](std::uint32_t stack, std::uint64_t samples, bool idle = false, std::uint32_t event = 1) {
        return analyzer::Entry{.event = {event}, .stack = stack, .idle = idle, .samples = samples, .weight = samples};
    };
    slice.entries = {entry(0, 10), entry(1, 6), entry(2, 2), entry(1, 100, true), entry(1, 100, false, 0)};
    add({cpu_slice(0, 18)});
    const Exposition now = exposition();
    EXPECT_DOUBLE_EQ(now.value("perfvigil_broken_stack_ratio", {{"dso", "libnofp.so"}}).value(), 0.75);
    EXPECT_EQ(now.family("perfvigil_broken_stack_ratio").size(), 1U) << "a binary without broken stacks has no series";
}

TEST_F(MetricsTest, UnitsShowTheBuildOfTheirMainProgram) {
    MetricsOptions options;
    options.max_unit_builds = 2;
    use(options);
    const auto row = [](std::string unit, std::string build_id, std::uint64_t samples) {
        return analyzer::ProfileProgram{.unit = std::move(unit),
                                        .container = {},
                                        .slice = {},
                                        .cgroup = {},
                                        .path = "/usr/sbin/web",
                                        .build_id = std::move(build_id),
                                        .package = "web",
                                        .package_version = "1.2",
                                        .samples = samples};
    };
    analyzer::Profile window;
    window.programs = {row("web.service", "aabb", 9), row("web.service", "ccdd", 8), row("b.service", "", 7),
                       row("c.service", "ee", 6), row("d.service", "ff", 5)};
    metrics->add_window(window);
    const Labels web{
        {"unit", "web.service"}, {"program", "web"}, {"build_id", "aabb"}, {"package", "web"}, {"version", "1.2"}};
    const auto page = exposition();
    EXPECT_EQ(page.value("perfvigil_unit_build_info", web), 1);
    EXPECT_EQ(page.sum("perfvigil_unit_build_info"),
              2);  // of each unit one, of those with a build-id, no more than allowed
    metrics->add_window({});
    EXPECT_EQ(exposition().sum("perfvigil_unit_build_info"), 0);
}

TEST_F(MetricsTest, SecurityTaxAddsUpOverWindows) {
    analyzer::Profile window;
    window.host.vulnerabilities = {{"spec_rstack_overflow", "Mitigation: Safe RET"}};
    window.events = {{.name = "cycles", .unit = analyzer::WeightUnit::kCycles},
                     {.name = "cpu-clock", .unit = analyzer::WeightUnit::kNanoseconds}};
    metrics->add_window(window);
    const Labels srso{{"kind", "srso"}};
    const std::string name = "perfvigil_security_tax_cpu_seconds_total";
    EXPECT_EQ(exposition().value(name, srso), 0) << "in force, and nothing spent yet";
    const std::string kernel = "[kernel.kallsyms]";
    window.functions = {{.name = "srso_return_thunk", .dso = kernel, .kernel = true},
                        {.name = "__check_object_size", .dso = kernel, .kernel = true},
                        {.name = "vfs_read", .dso = kernel, .kernel = true}};
    window.stacks = {{.functions = {0, 2}}, {.functions = {1, 2}}, {.functions = {2}}};
    window.contexts.resize(1);
    for (std::uint32_t stack = 0; stack < 3; ++stack) {
        window.samples.push_back({.event = 0, .stack = stack, .samples = 1, .weight = 7'000'000});
        window.samples.push_back({.event = 1, .stack = stack, .samples = 3, .weight = (stack + 1) * 1'000'000'000ULL});
    }
    metrics->add_window(window);
    metrics->add_window(window);
    const auto page = exposition();
    EXPECT_EQ(page.value(name, srso), 2);
    EXPECT_EQ(page.value(name, {{"kind", "hardened_usercopy"}}), 4);
    EXPECT_EQ(page.sum(name), 6) << "what is neither is no tax";
}

TEST_F(MetricsTest, HostileNamesStayLabels) {
    const std::string ten_kilobytes(10240, 'x');
    const std::vector<std::string> names{
        "a\nb", "a\"b", "a\\b", "a\xff", "\"} 1\nevil_total 1", ten_kilobytes, "(other)", std::string("nul\0", 4)};
    analyzer::SliceHotspots hotspots;
    for (const auto& name : names) hotspots.rows.push_back(row(name, name, name, 10));
    events[0].name = "cyc\"les\n";
    metrics->set({.degraded = {{"why\nnot", "", ""}}});
    add({cpu_slice(0, 80)}, hotspots);
    add({cpu_slice(0, 80)}, hotspots);
    const Exposition now = exposition();
    for (const auto& series : now.series) {
        EXPECT_NE(series.name, "evil_total");
        for (const auto& [name, value] : series.labels) EXPECT_LE(value.size(), 200U) << series.name;
    }
    EXPECT_EQ(now.family("perfvigil_function_cpu_seconds_total").size(), names.size() + 1);
    EXPECT_NEAR(now.sum("perfvigil_function_cpu_seconds_total"), 160 * to_seconds(kTick), 1e-9);
}

TEST_F(MetricsTest, ProcessNumbersAreThisProcess) {
    const ProcessNumbers numbers = read_process_numbers();
    EXPECT_GT(numbers.resident_bytes, 1U << 20);
    EXPECT_GT(numbers.virtual_bytes, numbers.resident_bytes);
    EXPECT_GE(numbers.open_fds, 3U);
    EXPECT_GT(numbers.max_fds, numbers.open_fds);
    EXPECT_GE(numbers.threads, 1U);
    EXPECT_GT(numbers.cpu_seconds, 0);
    const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    EXPECT_LE(numbers.start_time_seconds, now + 1);
    EXPECT_GT(numbers.start_time_seconds, now - 3600);
    const int fd = ::dup(0);
    EXPECT_EQ(read_process_numbers().open_fds, numbers.open_fds + 1);
    ::close(fd);
}

// docs/metrics.md tells every series and no other, with its labels.
TEST_F(MetricsTest, TheManualKnowsEverySeries) {
    std::ifstream file(std::string(test::kSourceDir) + "/docs/metrics.md");
    ASSERT_TRUE(file) << "docs/metrics.md";
    std::set<std::string> told;
    for (std::string line; std::getline(file, line);) {
        // A row of the tables: | `perfvigil_name{label,label}` | …
        if (!line.starts_with("| `")) continue;
        const std::string entry = line.substr(3, line.find('`', 3) - 3);
        if (entry.starts_with("perfvigil_") || entry.starts_with("process_")) told.insert(entry);
    }

    DaemonNumbers numbers;
    numbers.degraded = {{"no_pmu", "", ""}};
    numbers.session.emplace();
    numbers.budgets = {{"cpu", 1, 1}};
    numbers.triggers = {{"busy", 1, 0}};
    numbers.shipped.emplace();
    metrics->set(numbers);
    analyzer::Profile window;
    window.programs = {analyzer::ProfileProgram{
        .unit = "web.service", .container = {}, .slice = {}, .cgroup = {}, .path = "/web", .build_id = "aa"}};
    window.host.vulnerabilities = {{"spec_rstack_overflow", "Mitigation: Safe RET"}};
    metrics->add_window(window);
    auto cpu = cpu_slice(0, 495);
    cpu.cycles_recorded = true;
    cpu.cycles_counted = 1'000'000'000;
    cpu.times.user = static_cast<std::uint64_t>(cpu.enabled.count());
    slice.waits = {{{CpuId{0}, seconds(1)}}, {{"/system.slice/a.service", 9, 3, milliseconds(40)}}};
    auto unknown = row("[unknown]", "/bin/a", "", 1);
    unknown.reason = UnknownReason::kNoFile;
    const auto dso = make_dso(1, collector::DsoKind::kFile, "/bin/app");
    slice.dsos = {dso};
    add_stack(slice, {1}, dso->id);
    slice.entries = {{.event = {1}, .samples = 5, .weight = 5}};
    add({cpu}, {{unknown}});
    std::set<std::string> published;
    for (const auto& series : exposition().series) {
        std::string entry = series.name;
        for (const auto& [label, value] : series.labels) {
            entry += (entry == series.name ? "{" : ",") + label;
        }
        published.insert(series.labels.empty() ? entry : entry + "}");
    }
    EXPECT_EQ(told, published);
}

TEST_F(MetricsTest, TheExcludedHaveSeriesOfTheirOwn) {
    const analyzer::SliceHotspots hotspots{{
        row("(excluded)", "(excluded)", "(excluded)", 50),
        row("(excluded)", "/bin/impostor", "web.service", 30),
    }};
    const auto cpu = cpu_slice(0, 80);
    add({cpu}, hotspots);
    add({cpu}, hotspots);
    const Exposition now = exposition();
    const double tick = to_seconds(kTick);
    const auto time_in = [&](std::string function, std::string dso) {
        return now.value("perfvigil_function_cpu_seconds_total",
                         {{"function", std::move(function)}, {"dso", std::move(dso)}});
    };
    EXPECT_DOUBLE_EQ(time_in("(excluded)", "(excluded)").value(), 50 * tick);
    EXPECT_DOUBLE_EQ(time_in("\\(excluded)", "impostor").value(), 30 * tick);
    EXPECT_DOUBLE_EQ(now.value("perfvigil_unit_cpu_seconds_total", {{"unit", "(excluded)"}}).value(), 50 * tick);
}

}  // namespace
}  // namespace perfvigil::daemon
