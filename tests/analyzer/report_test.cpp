// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "analyzer/breakdown.hpp"

namespace perfvigil::analyzer {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace json = boost::json;

// One second of one CPU at 100 Hz: 60 samples in hot() called by main(), 20 in a stripped library called by main(),
// 20 idle ones.
Profile small_profile() {
    Profile p;
    p.id = "20260131T120500Z";
    p.end = WallTime(std::chrono::seconds(1769861100));
    p.start = p.end - std::chrono::seconds(1);
    p.duration = std::chrono::seconds(1);
    p.host = {"box", "6.1.0", "x86_64", "Some CPU", "perfvigil 0.1.0", 1};
    constexpr std::uint64_t kTick = 10'000'000;
    p.events.push_back({.name = "cpu-clock",
                        .unit = WeightUnit::kNanoseconds,
                        .frequency_mode = true,
                        .rate = 100,
                        .nominal_period = Nanoseconds(kTick),
                        .samples = 100,
                        .weight = 100 * kTick,
                        .idle_samples = 20,
                        .idle_weight = 20 * kTick});
    p.functions = {{"hot", "/usr/bin/app", false, UnknownReason::kNone},
                   {"main", "/usr/bin/app", false, UnknownReason::kNone},
                   {"[unknown]", "/usr/lib/libstripped.so", false, UnknownReason::kNoSymbols},
                   {"default_idle", "[kernel.kallsyms]", true, UnknownReason::kNone}};
    p.stacks = {{{0, 1}, 0}, {{2, 1}, 0}, {{3}, kStackIdleLoop | kStackKernelLeaf}};
    p.contexts = {{"app", "app.service", ""}, {"swapper", "", ""}};
    p.samples = {{0, 0, 0, false, 60, 60 * kTick}, {0, 1, 0, false, 20, 20 * kTick}, {0, 2, 1, true, 20, 20 * kTick}};
    ProfileCpu cpu;
    cpu.sum.cpu = CpuId{0};
    cpu.sum.clock_recorded = true;
    cpu.sum.enabled = std::chrono::seconds(1);
    cpu.sum.ticks_due = 100;
    cpu.sum.samples = 100;
    cpu.sum.idle_samples = 20;
    cpu.sum.mode_time[index_of(Mode::kUser)] = Nanoseconds(80 * kTick);
    cpu.sum.mode_time[index_of(Mode::kIdle)] = Nanoseconds(20 * kTick);
    cpu.ledger = {.total = 1'000'000'000, .busy = 800'000'000, .idle = 200'000'000};
    cpu.busy = {0.8, {0.711, 0.867}, 1.0, true};
    p.cpus.push_back(cpu);
    p.degraded.push_back({"no_pmu", "cycles: No such file or directory", "run on hardware with a PMU"});
    p.warnings.push_back("cpu 0: something to know");
    return p;
}

json::object parsed(const Profile& profile, const ReportOptions& options) {
    return json::parse(report_json(profile, options)).as_object();
}

const json::object& function_row(const json::object& event, std::string_view symbol) {
    for (const auto& row : event.at("functions").as_array()) {
        if (row.as_object().at("symbol").as_string() == symbol) return row.as_object();
    }
    throw std::out_of_range(std::string(symbol));
}

TEST(ReportJson, HoldsWhatItsReadersCountOn) {
    const auto report = parsed(small_profile(), {.top = 0});
    const auto& event = report.at("events").as_array().at(0).as_object();
    EXPECT_EQ(event.at("name").as_string(), "cpu-clock");
    EXPECT_EQ(event.at("samples").to_number<int>(), 100);
    EXPECT_EQ(event.at("event_count").to_number<std::int64_t>(), 1'000'000'000);
    EXPECT_EQ(event.at("lost").to_number<int>(), 0);

    const auto& hot = function_row(event, "hot");
    EXPECT_EQ(hot.at("self_samples").to_number<int>(), 60);
    EXPECT_EQ(hot.at("self_period").to_number<std::int64_t>(), 600'000'000);
    const auto& main = function_row(event, "main");
    EXPECT_EQ(main.at("self_samples").to_number<int>(), 0);
    EXPECT_EQ(main.at("total_samples").to_number<int>(), 80);
    EXPECT_EQ(main.at("total_period").to_number<std::int64_t>(), 800'000'000);
    EXPECT_EQ(function_row(event, "default_idle").at("idle_samples").to_number<int>(), 20);
    EXPECT_EQ(function_row(event, "[unknown]").at("unknown").as_string(), "stripped");

    const auto& cpu = report.at("cpus").as_array().at(0).as_object();
    EXPECT_DOUBLE_EQ(cpu.at("busy").as_double(), 0.8);
    EXPECT_DOUBLE_EQ(cpu.at("busy_low").as_double(), 0.711);
    EXPECT_DOUBLE_EQ(cpu.at("busy_high").as_double(), 0.867);
    EXPECT_DOUBLE_EQ(cpu.at("coverage").as_double(), 1.0);
    const auto& ledger = report.at("ledger").as_array().at(0).as_object();
    double sum = 0;
    for (const auto& [term, value] : ledger) {
        if (term != "cpu" && term != "seconds") sum += value.as_double();
    }
    EXPECT_DOUBLE_EQ(sum, ledger.at("seconds").as_double());
    EXPECT_EQ(report.at("degraded").as_array().at(0).as_object().at("reason").as_string(), "no_pmu");
    EXPECT_EQ(report.at("warnings").as_array().size(), 1U);
}

TEST(ReportJson, SelfSamplesOfAllFunctionsAddUpToTheEvent) {
    const auto report = parsed(small_profile(), {.top = 0});
    const auto& event = report.at("events").as_array().at(0).as_object();
    std::int64_t samples = 0;
    for (const auto& row : event.at("functions").as_array()) {
        samples += row.as_object().at("self_samples").to_number<std::int64_t>();
    }
    EXPECT_EQ(samples, event.at("samples").to_number<std::int64_t>());
}

TEST(ReportJson, UnknownBusyIsNullNotZero) {
    auto profile = small_profile();
    profile.cpus[0].busy = {};
    const auto report = parsed(profile, {});
    EXPECT_TRUE(report.at("cpus").as_array().at(0).as_object().at("busy").is_null());
}

TEST(ReportJson, HostileNamesStayValidUtf8) {
    auto profile = small_profile();
    profile.functions[0].name = std::string("a\xff\n\"\\b\0c", 8);
    const auto report = parsed(profile, {.top = 0});
    EXPECT_EQ(function_row(report.at("events").as_array().at(0).as_object(), "a\\xff\\x0a\"\\\\b\\x00c")
                  .at("self_samples")
                  .to_number<int>(),
              60);
}

TEST(ReportText, SharesAreOfBusyTimeUnlessIdleIsAskedFor) {
    const auto busy = report_text(small_profile(), {});
    EXPECT_THAT(busy, HasSubstr(" 75.00    75.00       60  app"));
    EXPECT_THAT(busy, HasSubstr("20 idle samples left out below"));
    EXPECT_THAT(busy, Not(HasSubstr("default_idle")));
    const auto all = report_text(small_profile(), {.idle = IdleRows::kInclude});
    EXPECT_THAT(all, HasSubstr(" 60.00    60.00       60  app"));
    EXPECT_THAT(all, HasSubstr("default_idle"));
}

TEST(ReportText, SaysWhatIsMissingAndWhy) {
    const auto text = report_text(small_profile(), {});
    EXPECT_THAT(text, HasSubstr("no_pmu: cycles: No such file or directory"));
    EXPECT_THAT(text, HasSubstr("run on hardware with a PMU"));
    EXPECT_THAT(text, HasSubstr("[unknown: stripped]"));
    EXPECT_THAT(text, HasSubstr("Without a name: 25.00 %: stripped 25.00 %"));
    EXPECT_THAT(text, HasSubstr("cpu 0: something to know"));
}

// Two CPUs that counted cycles, the second with a throttled counter.
Profile counting_profile() {
    auto profile = small_profile();
    profile.cpus.push_back(profile.cpus[0]);
    profile.cpus[1].sum.cpu = CpuId{1};
    for (auto& cpu : profile.cpus) {
        cpu.sum.cycles_recorded = true;
        cpu.sum.cycles_counted = cpu.sum.cpu.value == 0 ? 2'400'000'000 : 800'000'000;
        cpu.sum.cycles_sampled = 700'000'000;
    }
    profile.cpus[1].sum.cycles_throttled = std::chrono::milliseconds(500);
    return profile;
}

TEST(ReportText, CyclesHaveTheirLedgerAndAFrequencyThatIsMissingItsReason) {
    EXPECT_THAT(report_text(small_profile(), {}), Not(HasSubstr("Cycles ledger")));
    const auto text = report_text(counting_profile(), {});
    EXPECT_THAT(text, HasSubstr("Cycles ledger, millions: counted = sampled + unattributed"));
    EXPECT_THAT(text, HasSubstr("    0   2400.0    700.0        1700.0        0.000      1.50\n"));
    EXPECT_THAT(text, HasSubstr("    1    800.0    700.0         100.0        0.500      0.50\n"));
    EXPECT_THAT(text, HasSubstr("3.00 GHz"));
    EXPECT_THAT(text, HasSubstr("No frequency of CPU 1: the cycles counter may have missed much of the work."));
}

TEST(ReportJson, AFrequencyIsThereOrSaysWhyNot) {
    const auto cpu = [](const json::object& report, std::size_t i) { return report.at("cpus").at(i).as_object(); };
    const auto report = parsed(counting_profile(), {});
    EXPECT_DOUBLE_EQ(cpu(report, 0).at("effective_hertz").to_number<double>(), 3e9);
    EXPECT_FALSE(cpu(report, 0).contains("no_frequency"));
    EXPECT_TRUE(cpu(report, 1).at("effective_hertz").is_null());
    EXPECT_EQ(cpu(report, 1).at("no_frequency").as_string(), "counter_stood");
    EXPECT_DOUBLE_EQ(cpu(report, 1).at("relative_busyness").to_number<double>(), 0.5);
    EXPECT_DOUBLE_EQ(report.at("cycles_ledger").at(1).at("throttled").to_number<double>(), 0.5);
    EXPECT_EQ(cpu(parsed(small_profile(), {}), 0).at("no_frequency").as_string(), "not_recorded");
}

TEST(ReportText, ControlCharactersNeverReachTheTerminal) {
    auto profile = small_profile();
    profile.functions[0].name = "\x1b[2Jevil";
    profile.contexts[0].comm = "tab\tnl\n";
    profile.host.hostname = "\x1b]0;x\a";
    const auto text = report_text(profile, {});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\a'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("tab\\x09nl\\x0a"));
}

TEST(ReportText, TopLimitsRowsAndSaysHowManyAreLeft) {
    const auto text = report_text(small_profile(), {.top = 1});
    EXPECT_THAT(text, HasSubstr("… 2 more functions"));
}

TEST(Breakdown, DividesEverySampleOnce) {
    const auto profile = small_profile();
    for (const auto dimension : {Dimension::kDso, Dimension::kComm, Dimension::kUnit}) {
        std::uint64_t samples = 0;
        for (const auto& share : breakdown(profile, 0, dimension, IdleRows::kInclude)) samples += share.samples;
        EXPECT_EQ(samples, 100U);
    }
    const auto unknown = breakdown(profile, 0, Dimension::kUnknown, IdleRows::kExclude);
    ASSERT_EQ(unknown.size(), 1U);
    EXPECT_EQ(unknown[0].key, reason_name(UnknownReason::kNoSymbols));
    EXPECT_EQ(unknown[0].samples, 20U);
}

}  // namespace
}  // namespace perfvigil::analyzer
