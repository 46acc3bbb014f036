// SPDX-License-Identifier: GPL-2.0-or-later
// One recording of the installed perf read twice: its perf.data directly, and the text that perf script makes of it.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyzer/input/load.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "tests/support/client.hpp"
#include "tests/support/profile_folds.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;

class PerfScriptText : public testing::Test {
protected:
    void SetUp() override {
        if (std::system("command -v perf >/dev/null 2>&1") != 0)
            GTEST_SKIP() << "needs perf (apt-get install linux-perf)";
        const auto command = fmt::format(
            "perf record -q --sample-cpu -F 997 -g -e cpu-clock -e page-faults -o '{}' -- '{}' 1.5 >/dev/null 2>'{}'",
            data(), client_path("split70_30"), folder_ / "err");
        if (std::system(command.c_str()) != 0) GTEST_SKIP() << "perf cannot record here";
    }
    std::string data() const { return folder_ / "perf.data"; }
    std::string script(const std::string& options) const {
        const std::string text = folder_ / "text";
        const auto command = fmt::format("perf script -i '{}' {} >'{}' 2>'{}'", data(), options, text, folder_ / "err");
        EXPECT_EQ(std::system(command.c_str()), 0);
        return text;
    }
    static Profile load(const std::string& path) {
        auto profile = load_profile(path, {}, system_clock());
        if (!profile) throw std::runtime_error(profile.error().message);
        return std::move(*profile);
    }

    TempFolder folder_;
};

// The parts of the stacks that lie in the client itself: the same names whoever resolves them.
Folds client_folds(const Profile& profile, std::uint32_t event) {
    Folds folds;
    for (const auto& sample : profile.samples) {
        if (sample.event != event) continue;
        std::string key = profile.contexts[sample.context].comm;
        const auto& functions = profile.stacks[sample.stack].functions;
        for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
            const auto& it = profile.functions[*function];
            if (base_name(it.dso) == "split70_30") key += ";" + it.name;
        }
        folds[key] += sample.samples;
    }
    return folds;
}

// Texts list events in the order of their first samples, captures as they were asked for.
std::uint32_t event_called(const Profile& profile, const std::string& name) {
    const auto found = std::ranges::find(profile.events, name, &ProfileEvent::name);
    if (found == profile.events.end()) throw std::runtime_error("no event " + name);
    return static_cast<std::uint32_t>(found - profile.events.begin());
}

void expect_same(const Profile& direct, const Profile& text) {
    ASSERT_EQ(text.events.size(), direct.events.size());
    for (const auto& event : direct.events) {
        const auto& other = text.events[event_called(text, event.name)];
        EXPECT_EQ(other.samples, event.samples) << event.name;
        EXPECT_EQ(other.weight, event.weight) << event.name;
        EXPECT_EQ(other.unit, event.unit) << event.name;
    }
}

TEST_F(PerfScriptText, HasTheSamplesPeriodsAndStacksOfItsCapture) {
    const Profile direct = load(data());
    ASSERT_GT(direct.events.at(0).samples, 500U);
    const Profile text = load(script("--header"));
    expect_same(direct, text);
    for (std::uint32_t i = 0; i < direct.events.size(); ++i) {
        EXPECT_EQ(client_folds(text, event_called(text, direct.events[i].name)), client_folds(direct, i));
    }
    EXPECT_EQ(text.host.hostname, direct.host.hostname);
    EXPECT_EQ(text.host.os_release, direct.host.os_release);
    EXPECT_EQ(text.host.cpus_online, direct.host.cpus_online);
    std::uint64_t in_moments = 0;
    for (const auto& moment : text.moments) in_moments += moment.totals.at(event_called(text, "cpu-clock")).samples;
    EXPECT_EQ(in_moments, direct.events[event_called(direct, "cpu-clock")].samples);
    EXPECT_TRUE(text.cpus.empty()) << "one program was recorded, no CPU";
}

TEST_F(PerfScriptText, SelectsWhatItsCaptureSelects) {
    const auto text = script("-F comm,pid,tid,cpu,time,period,event,ip,sym,dso --ns");
    for (const auto* range : {"20%..60%", "0.2s..0.7s"}) {
        const LoadOptions options{.samples = {.time = parse_time_range(range).value()}};
        const auto direct = load_profile(data(), options, system_clock());
        const auto part = load_profile(text, options, system_clock());
        ASSERT_TRUE(direct && part);
        const auto number = event_called(*part, "cpu-clock");
        const auto& event = direct->events[event_called(*direct, "cpu-clock")];
        // The header's times are those of other records too, so a range in percent may end a moment elsewhere.
        EXPECT_NEAR(static_cast<double>(part->events[number].samples), static_cast<double>(event.samples), 30);
        EXPECT_EQ(part->events[number].whole_samples, event.whole_samples);
        EXPECT_LT(event.samples, event.whole_samples);
    }
}

TEST_F(PerfScriptText, TellsHowBusyCpusWereAsItsCaptureDoes) {
    const auto command = fmt::format("perf record -q -a -F 997 -g -e cpu-clock -o '{}' -- '{}' 1 >/dev/null 2>'{}'",
                                     data(), client_path("split70_30"), folder_ / "err");
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "perf cannot record CPUs here";
    const Profile direct = load(data());
    const Profile text = load(script(""));
    if (text.cpus.empty()) GTEST_SKIP() << "needs a CPU that idles: no sample is of the idle task";
    ASSERT_EQ(text.cpus.size(), direct.cpus.size());
    for (std::size_t i = 0; i < direct.cpus.size(); ++i) {
        EXPECT_EQ(text.cpus[i].sum.cpu, direct.cpus[i].sum.cpu);
        EXPECT_EQ(text.cpus[i].sum.samples, direct.cpus[i].sum.samples);
        EXPECT_NEAR(to_seconds(text.cpus[i].sum.enabled), to_seconds(direct.cpus[i].sum.enabled), 0.005);
        EXPECT_NEAR(text.cpus[i].busy.ratio, direct.cpus[i].busy.ratio, 0.01);
        EXPECT_NEAR(to_seconds(Nanoseconds(text.cpus[i].ledger.idle)),
                    to_seconds(Nanoseconds(direct.cpus[i].ledger.idle)), 0.01);
    }
}

TEST_F(PerfScriptText, KeepsItsSumsWhateverFieldsArePrinted) {
    const Profile direct = load(data());
    for (const char* fields :
         {"-F comm,pid,tid,cpu,time,period,event,ip,sym,dso", "-F comm,tid,time,period,event,ip,sym,symoff,dso --ns",
          "-F comm,tid,period,event,ip,sym,dso", "-F comm,tid,time,period,event", "-F comm,tid,time,period,event,ip -G",
          "--max-stack 4"}) {
        SCOPED_TRACE(fields);
        expect_same(direct, load(script(fields)));
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
