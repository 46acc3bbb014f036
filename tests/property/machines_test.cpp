// SPDX-License-Identifier: GPL-2.0-or-later
// Machines that are not here, as captures of a stated truth: written by the capture writer, read by the capture reader,
// analyzed and reported as any file is. What comes out must be what went in: counts and losses exactly, busy inside its
// interval, the frequency that the cycles were made with, and no observation that the truth does not hold.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/capture_analysis.hpp"
#include "analyzer/idle_cycles.hpp"
#include "analyzer/observations.hpp"
#include "analyzer/report.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/synthetic_capture.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::test {
namespace {

using analyzer::CpuSlice;
using analyzer::Profile;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kSigmas = 4.5;  // of any of the thousand numbers below

struct Machine {
    const char* name;
    SyntheticOptions options;
    std::set<std::string> observed{};  // what its truth gives occasion to say
    std::vector<std::pair<std::string, std::string>> settings{};
};
std::ostream& operator<<(std::ostream& out, const Machine& machine) { return out << machine.name; }

std::vector<SyntheticTruth> by_cpu(const SyntheticStream& stream, std::size_t cpus) {
    std::vector<SyntheticTruth> sums(cpus);
    for (const auto& slice : stream.truth()) {
        for (const auto& truth : slice) sums[truth.cpu.value] += truth;
    }
    return sums;
}

class Machines : public testing::TestWithParam<Machine> {
protected:
    // The kernel's symbols as its own list would have them.
    std::string kallsyms() {
        std::string text = "ffffffff81000000 T _text\n";
        for (const auto& name : SyntheticCode::kernel_functions()) {
            char line[64];
            (void)std::snprintf(line, sizeof line, "%016llx t ",
                                static_cast<unsigned long long>(SyntheticCode::kernel_address(name)));
            text += line + name + "\n";
        }
        return folder_.write("kallsyms", text);
    }
    void analyze() {
        auto stream = SyntheticStream(GetParam().options);
        collector::HostFacts host = stream.host();
        host.settings = GetParam().settings;
        auto bytes = written_capture(stream, host);
        ASSERT_TRUE(bytes) << bytes.error().message;
        auto reader = collector::CaptureReader::from_bytes(std::move(*bytes), "machine");
        ASSERT_TRUE(reader) << reader.error().message;
        analyzer::CaptureOptions options;
        options.symbols.buildid_dir = "";
        options.symbols.debug_dirs = {};
        options.symbols.kallsyms = kallsyms();
        auto profile = analyzer::analyze_capture(**reader, "machine", options, system_clock());
        ASSERT_TRUE(profile) << profile.error().message;
        EXPECT_TRUE((*reader)->ours());
        profile_ = std::move(*profile);
        truth_ = by_cpu(stream, GetParam().options.cpus.size());
    }

    TempFolder folder_;
    Profile profile_;
    std::vector<SyntheticTruth> truth_;
};

void expect_counts(const CpuSlice& cpu, const SyntheticTruth& truth) {
    EXPECT_EQ(cpu.enabled, truth.enabled);
    EXPECT_EQ(cpu.samples, truth.samples);
    EXPECT_EQ(cpu.idle_samples, truth.idle_samples);
    EXPECT_EQ(cpu.lost, truth.lost);
    EXPECT_EQ(cpu.lost_time, truth.weights.lost);
    EXPECT_EQ(cpu.throttled, truth.throttled_time);
    EXPECT_EQ(cpu.cycles_counted, truth.cycles);
    EXPECT_EQ(cpu.cycles_sampled, truth.cycles_sampled);
    EXPECT_EQ(cpu.cycles_idle, truth.cycles_idle);
    EXPECT_EQ(cpu.cycles_lost, truth.cycles_lost);
    EXPECT_EQ(cpu.cycles_throttled, truth.cycles_throttled);
}

double share(Nanoseconds part, Nanoseconds whole) { return to_seconds(part) / to_seconds(whole); }

// Cycles outside idle over busy time: as exact as busy is, which samples show by chance. Where idle counts too, the few
// samples of a CPU that hardly works may not tell; where much of its work may be missing, in the clock or in the
// counter, there is none.
void expect_frequency(const CpuSlice& cpu, const SyntheticTruth& truth, const SyntheticCpu& facts, double idle_hertz) {
    const double hertz = analyzer::effective_hertz(cpu, idle_hertz);
    const double busy_low = analyzer::busy_of(cpu).interval.low;
    const bool silent = facts.lost > 0 || facts.throttled > 0 || (facts.cycles_throttled > 0 && facts.busy < 1);
    if (busy_low < 0.05 || silent) {
        EXPECT_EQ(hertz, 0);
        return;
    }
    const auto working = truth.samples - truth.idle_samples;
    if (facts.polls > 0 && working < 150 && hertz == 0) return;
    const double is = static_cast<double>(facts.cycles_per_microsecond) * 1e6;
    const double busy = std::min(1.0, share(truth.task + truth.irq_in_idle, truth.enabled));
    const double seen = busy * static_cast<double>(truth.samples + truth.idle_unsampled + truth.stolen_ticks);
    EXPECT_NEAR(hertz, is, is * (0.002 + kSigmas * std::sqrt((1.05 - busy) / seen)));
}

TEST_P(Machines, AreReportedAsTheyWere) {
    ASSERT_NO_FATAL_FAILURE(analyze());
    const SyntheticOptions& options = GetParam().options;
    ASSERT_EQ(profile_.cpus.size(), options.cpus.size());
    std::size_t within = 0;
    std::uint64_t samples = 0;
    std::uint64_t cycles = 0;
    const double idle_hertz = analyzer::idle_cycles_hertz(std::span(profile_.cpus));
    for (std::size_t i = 0; i < profile_.cpus.size(); ++i) {
        SCOPED_TRACE("cpu " + std::to_string(i));
        const analyzer::ProfileCpu& cpu = profile_.cpus[i];
        const SyntheticTruth& truth = truth_[i];
        ASSERT_EQ(cpu.sum.cpu.value, i);
        expect_counts(cpu.sum, truth);
        expect_frequency(cpu.sum, truth, options.cpus[i], idle_hertz);
        // Softirq work on an idle CPU has no task, and is no idle.
        const double busy = std::min(1.0, share(truth.task + truth.irq_in_idle, truth.enabled));
        const auto surely = analyzer::busy_of(cpu.sum, kSigmas);
        EXPECT_LE(surely.interval.low, busy);
        EXPECT_GE(surely.interval.high + 1e-4, busy);  // ticks are whole, those due are not
        within += cpu.busy.interval.low <= busy && busy <= cpu.busy.interval.high + 1e-4 ? 1 : 0;
        EXPECT_EQ(cpu.ledger.total, truth.enabled.count());
        EXPECT_EQ(cpu.ledger.lost, truth.weights.lost.count());
        EXPECT_EQ(cpu.ledger.busy, truth.weights.busy.count());
        EXPECT_NEAR(static_cast<double>(cpu.ledger.stolen), static_cast<double>(truth.stolen.count()),
                    0.05 * static_cast<double>(truth.enabled.count()));
        samples += truth.samples;
        cycles += truth.cycles_sampled;
    }
    // 95 % of intervals, give or take.
    EXPECT_GE(static_cast<double>(within), 0.95 * static_cast<double>(profile_.cpus.size()) -
                                               2 * std::sqrt(0.05 * static_cast<double>(profile_.cpus.size())) - 1);
    ASSERT_EQ(profile_.events.size(), 2U);
    EXPECT_EQ(profile_.events[0].name, "cycles");
    EXPECT_EQ(profile_.events[0].weight, cycles);
    EXPECT_EQ(profile_.events[1].name, "cpu-clock");
    EXPECT_EQ(profile_.events[1].samples, samples);

    std::set<std::string> said;
    for (const auto& observation : analyzer::observe(profile_)) said.insert(observation.id);
    // The program is not here to name its functions, and what all of them do in the kernel is copy pages.
    std::set<std::string> expected = GetParam().observed;
    expected.insert({"unknown_no_file", "memory_copies"});
    EXPECT_EQ(said, expected);
    EXPECT_THAT(analyzer::report_text(profile_, {}), testing::HasSubstr(std::to_string(options.cpus.size()) + " CPUs"));
}

SyntheticOptions machine(std::vector<SyntheticCpu> cpus, void (*change)(SyntheticOptions&) = nullptr) {
    SyntheticOptions options;
    options.cpus = std::move(cpus);
    options.slices = 3;
    options.slice = seconds(4);
    if (change != nullptr) change(options);
    return options;
}

// As many CPUs, each a little busier than the one before it.
std::vector<SyntheticCpu> ramp(std::size_t count, double most) {
    std::vector<SyntheticCpu> cpus(count);
    for (std::size_t i = 0; i < count; ++i) {
        cpus[i].busy = most * static_cast<double>(i) / static_cast<double>(count - 1);
    }
    return cpus;
}

std::vector<SyntheticCpu> sleeping() {
    std::vector<SyntheticCpu> cpus;
    for (const double busy : {0.0, 0.1, 0.4, 0.8}) cpus.push_back({.busy = busy, .samples_idle = false});
    return cpus;
}

// A polling idle loop runs as fast as work does.
std::vector<SyntheticCpu> polling(std::initializer_list<double> busy, double polls = 1) {
    std::vector<SyntheticCpu> cpus;
    for (const double each : busy) cpus.push_back({.busy = each, .polls = polls});
    return cpus;
}

// Beside CPUs that poll one that may sleep.
std::vector<SyntheticCpu> polling_but_one() {
    auto cpus = polling({0.0, 0.05, 0.3, 0.6, 1.0});
    cpus.push_back({.busy = 0.2});
    return cpus;
}

std::vector<SyntheticCpu> two_core_types() {
    std::vector<SyntheticCpu> cpus;
    for (const double busy : {0.2, 0.6, 0.8, 0.5}) cpus.push_back({.busy = busy, .cycles_per_microsecond = 5000});
    for (const double busy : {0.3, 0.8, 0.0, 0.6}) {
        cpus.push_back({.busy = busy, .pmu = 1, .cycles_per_microsecond = 3200});
    }
    return cpus;
}

// Two threads of a core count its cycles each, as long as they are not halted: neither has the core's frequency less.
std::vector<SyntheticCpu> siblings() {
    std::vector<SyntheticCpu> cpus;
    for (const double busy : {1.0, 1.0, 0.3, 0.7}) cpus.push_back({.busy = busy, .cycles_per_microsecond = 3700});
    return cpus;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Machines,
    testing::Values(
        Machine{"Cpus64", machine(ramp(64, 0.8), [](auto& o) { o.slice = seconds(2); })},
        Machine{"Cpus512", machine(ramp(512, 0.8),
                                   [](auto& o) {
                                       o.hertz = 49;
                                       o.slice = milliseconds(1500);
                                       o.slices = 2;
                                       o.depth = 4;
                                       o.processes_per_cpu = 1;
                                   })},
        Machine{"CyclesStopInIdle", machine(sleeping()), {"idle_from_samples", "partial_coverage"}},
        Machine{"CyclesCountInIdle",
                machine(polling_but_one()),
                {"cycles_in_idle", "idle_from_cycles", "cpus_saturated", "cpus_uneven"}},
        // None of them idle enough to count more than work could have made.
        Machine{"CyclesCountInIdleOfWorkingCpus",
                machine(polling({0.25, 0.33, 0.45, 0.7})),
                {"cycles_in_idle", "idle_from_cycles"}},
        // Short waits are polled, long ones are slept.
        Machine{"CyclesCountInIdlePartly", machine(polling({0.15, 0.4, 0.7}, 0.2)), {"idle_from_cycles"}},
        Machine{"Hybrid",
                machine(two_core_types(), [](auto& o) { o.core_pmus = {{"cpu_core", 4}, {"cpu_atom", 10}}; })},
        Machine{"Smt", machine(siblings()), {"cpus_saturated"}, {{"smt", "on"}}},
        Machine{"Throttled",
                machine({{.busy = 0.6, .throttled = 0.3}, {.busy = 0.4}}),
                {"throttled_clock", "partial_coverage"}},
        Machine{"CyclesThrottled",
                machine({{.busy = 1, .cycles_throttled = 0.3},
                         {.busy = 0.5, .cycles_throttled = 0.2, .busy_when_throttled = 1},
                         {.busy = 0.6}}),
                {"throttled_cycles", "cpus_saturated"}},
        Machine{"Lossy", machine({{.busy = 0.5, .lost = 0.4}, {.busy = 0.4}}), {"lost_samples", "partial_coverage"}},
        Machine{"Stolen",
                machine({{.busy = 0.5, .steal = 0.3}, {.busy = 0.4, .steal = 0.1}}),
                {"cpu_stolen", "partial_coverage"}},
        Machine{"Changing", machine({{.busy = 0.5},
                                     {.busy = 0.6, .offline = {{seconds(5), seconds(6)}}, .noticed = milliseconds(500)},
                                     {.busy = 0.4, .starts = milliseconds(2300)}},
                                    [](auto& o) { o.retunes = {{milliseconds(5500), 499}, {seconds(8), 199}}; })}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace perfvigil::test
