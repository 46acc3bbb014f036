// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/trigger_signals.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "config/trigger_format.hpp"
#include "tests/support/clock_slice.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::seconds;
using test::cpu_slice;
using test::kTick;

analyzer::CpuSlice lossy_slice(std::uint32_t cpu, std::uint64_t busy, std::uint64_t lost) {
    auto slice = test::cpu_slice(cpu, busy);
    slice.samples -= lost;
    slice.idle_samples -= lost;
    slice.lost = lost;
    return slice;
}

class TriggerSignalsTest : public testing::Test {
protected:
    TriggerSignalsTest() {
        std::filesystem::create_directories(folder / "pressure");
        collector::EventInfo clock;
        clock.name = "cpu-clock";
        clock.attr.type = collector::kTypeSoftware;
        clock.attr.config = collector::kSwCpuClock;
        collector::EventInfo cycles;
        cycles.name = "cycles";
        cycles.attr.type = collector::kTypeHardware;
        events = {cycles, clock};
        slice.totals.resize(2);
        slice.cpus = {cpu_slice(0, 495), cpu_slice(1, 395)};
        pass();
    }
    void pass() { slice.end += seconds(5); }
    void add(std::string_view function, std::string_view unit, std::uint64_t samples, std::uint32_t event = 1) {
        rows.push_back({.function = function, .dso = "/usr/bin/app", .unit = unit, .event = event, .samples = samples});
    }
    std::optional<Measure> measure(const char* rule) {
        const std::vector<config::TriggerRule> rules{config::TriggerRuleFormat{}.parse(rule).value()};
        return signals.measure(rules, slice, {rows}, events).front();
    }
    void spill(const std::string& name, const std::string& text) const { test::spill(folder / name, text); }

    test::TempFolder folder;
    TriggerSignals signals{folder.path()};
    analyzer::Slice slice;
    std::vector<analyzer::SliceHotspots::Row> rows;
    std::vector<collector::EventInfo> events;
};

TEST_F(TriggerSignalsTest, BusyOfAllCpus) {
    const auto busy = measure("a when cpu_busy > 50%");
    ASSERT_TRUE(busy);
    EXPECT_NEAR(busy->value, 890.0 / 990, 1e-9);
    EXPECT_NEAR(busy->low, 0.879, 0.001) << "Wilson, 890 of 990";
    slice.cpus = {lossy_slice(0, 245, 250)};
    const auto lossy = measure("a when cpu_busy > 50%");
    EXPECT_NEAR(lossy->value, 1, 1e-9) << "every sample there is was busy";
    EXPECT_LT(lossy->low, 0.5) << "but half of them are missing";
    slice.cpus.clear();
    EXPECT_FALSE(measure("a when cpu_busy > 50%"));
}

TEST_F(TriggerSignalsTest, AFunctionsShareOfTheBusyTime) {
    add("parse(char const*)", "a.service", 300);
    add("parse(char const*)", "b.service", 145);
    add("std::sort<int*>", "b.service", 445);
    add("std::sort<int*>", "b.service", 9999, 0);  // cycles
    EXPECT_NEAR(measure("a when function parse(char const*) > 1%")->value, 0.5, 1e-9);
    EXPECT_NEAR(measure("a when function std::sort<> > 1%")->value, 0.5, 1e-9) << "as metrics call it";
    EXPECT_NEAR(measure("a when function std::sort<int*> > 1%")->value, 0.5, 1e-9) << "as reports call it";
    EXPECT_EQ(measure("a when function parse > 1%")->value, 0) << "another function";
    EXPECT_LT(measure("a when function parse(char const*) > 1%")->low, 0.49);
    rows.clear();
    EXPECT_FALSE(measure("a when function parse(char const*) > 1%")) << "nothing ran";
}

TEST_F(TriggerSignalsTest, AUnitsCpus) {
    add("f", "a.service", 495);
    add("g", "a.service", 247);
    add("g", "b.service", 100);
    EXPECT_NEAR(measure("a when unit a > 1%")->value, 2 * 742.0 / 990, 1e-9) << "one and a half CPUs";
    EXPECT_NEAR(measure("a when unit b.service > 1%")->value, 2 * 100.0 / 990, 1e-9);
    EXPECT_EQ(measure("a when unit c.service > 1%")->value, 0);
}

TEST_F(TriggerSignalsTest, LossOfAllEvents) {
    EXPECT_FALSE(measure("a when loss > 1%")) << "nothing was sampled";
    slice.totals[0].samples = 90;
    slice.totals[1].lost = 10;
    EXPECT_NEAR(measure("a when loss > 1%")->value, 0.1, 1e-9);
}

TEST_F(TriggerSignalsTest, PressureBetweenTwoSlices) {
    EXPECT_FALSE(measure("a when pressure io > 1%")) << "this kernel has none";
    pass();
    spill("pressure/io", "some avg10=1.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 total=0\n");
    EXPECT_FALSE(measure("a when pressure io > 1%")) << "one reading says nothing of a slice";
    EXPECT_FALSE(measure("a when pressure io full > 1%"));
    pass();
    spill("pressure/io", "some avg10=1.00 avg60=0.00 avg300=0.00 total=3000000\nfull avg10=0.00 total=500000\n");
    EXPECT_NEAR(measure("a when pressure io > 1%")->value, 0.4, 1e-9) << "2 s of 5 s";
    EXPECT_NEAR(measure("a when pressure io some > 1%")->value, 0.4, 1e-9) << "asked again in the same slice";
    EXPECT_NEAR(measure("a when pressure io full > 1%")->value, 0.1, 1e-9);
    EXPECT_FALSE(measure("a when pressure cpu > 1%"));
    pass();
    spill("pressure/io", "nonsense total=x\n");
    EXPECT_FALSE(measure("a when pressure io > 1%"));
}

TEST_F(TriggerSignalsTest, Load) {
    EXPECT_FALSE(measure("a when load > 1"));
    spill("loadavg", "3.50 1.00 0.50 2/1234 5678\n");
    EXPECT_EQ(measure("a when load > 1")->value, 3.5);
    EXPECT_EQ(measure("a when load_per_cpu > 1")->value, 1.75);
}

}  // namespace
}  // namespace perfvigil::daemon
