// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/capture_cost.hpp"

namespace perfvigil::daemon {
namespace {

using namespace std::chrono_literals;
using collector::CallChains;
using testing::HasSubstr;

Result<CaptureRequest> parse(std::string_view query) {
    const auto parameters = api::parameters_of(query);
    if (!parameters) return fail(parameters.error());
    return parse_capture_request(*parameters, 600s);
}

TEST(CaptureRequestTest, AnEmptyOneIsTheWholeHostForTenSeconds) {
    const auto request = parse("").value();
    EXPECT_EQ(request.duration, 10s);
    EXPECT_EQ(request.frequency, 999U);
    EXPECT_EQ(request.call_chains, CallChains::kFramePointers);
    EXPECT_EQ(request.format, CaptureRequest::Format::kText);
    EXPECT_FALSE(request.raw || request.force || request.cgroup);
    EXPECT_EQ(target_text(request), "-a");
    EXPECT_EQ(command_text(request), "capture -a -F 999 -d 10s");
    EXPECT_TRUE(std::holds_alternative<collector::AllCpus>(recording_of(request, 1U << 20, 2).target));
}

TEST(CaptureRequestTest, EveryParameter) {
    const auto request = parse(
                             "duration=500ms&frequency=4000&pid=7,8&cpu=0-2,5&event=cpu-clock&call_graph=dwarf,4096&"
                             "max_stack=64&label=slow%20login&force=true&raw=true&format=stream")
                             .value();
    EXPECT_EQ(request.duration, 500ms);
    EXPECT_EQ(request.frequency, 4000U);
    EXPECT_EQ(request.pids, (std::vector{Pid{7}, Pid{8}}));
    EXPECT_EQ(request.cpus, (std::vector{CpuId{0}, CpuId{1}, CpuId{2}, CpuId{5}}));
    ASSERT_EQ(request.events.size(), 1U);
    EXPECT_EQ(request.events.front().name, "cpu-clock");
    EXPECT_EQ(request.call_chains, CallChains::kStackDumps);
    EXPECT_EQ(request.stack_dump_bytes, 4096U);
    EXPECT_EQ(request.max_stack, 64);
    EXPECT_EQ(request.label, "slow login");
    EXPECT_TRUE(request.force && request.raw);
    EXPECT_EQ(request.format, CaptureRequest::Format::kStream);
    EXPECT_EQ(command_text(request),
              "capture -p 7,8 --cpu 0-2,5 -F 4000 -d 500ms --call-graph dwarf --label 'slow login'");
    const auto recording = recording_of(request, 64U << 20, 4);
    EXPECT_EQ(recording.tuning.frequency, 4000U);
    EXPECT_EQ(std::get<collector::Processes>(recording.target).pids, request.pids);
}

TEST(CaptureRequestTest, UnitsAndControlGroups) {
    EXPECT_EQ(parse("unit=nginx")->cgroup->unit, "nginx.service");
    EXPECT_EQ(parse("unit=docker-1.scope")->cgroup->unit, "docker-1.scope");
    EXPECT_EQ(parse("cgroup=%2Fsystem.slice%2Fx.service%2F")->cgroup->path, "/system.slice/x.service");
    EXPECT_FALSE(parse("cgroup=/")->cgroup) << "everything is below the root";
    EXPECT_EQ(target_text(parse("unit=nginx").value()), "--unit nginx.service");
    EXPECT_EQ(target_text(parse("cgroup=/a").value()), "--cgroup /a");
}

TEST(CaptureRequestTest, WhatIsWrongIsSaid) {
    for (const auto& [query, why] :
         std::vector<std::pair<const char*, const char*>>{{"duration=10", "duration: "},
                                                          {"duration=11min", "duration: "},
                                                          {"duration=10ms", "duration: "},
                                                          {"frequency=0", "frequency: "},
                                                          {"frequency=20001", "frequency: "},
                                                          {"pid=0", "is no process's number"},
                                                          {"pid=-1", "is no process's number"},
                                                          {"pid=1,x", "is no process's number"},
                                                          {"pid=99999999999", "is no process's number"},
                                                          {"unit=", "unit: "},
                                                          {"unit=a%2Fb", "unit: "},
                                                          {"cgroup=system.slice", "cgroup: "},
                                                          {"cgroup=/a/../b", "cgroup: "},
                                                          {"cpu=x", "cpu: "},
                                                          {"event=nonsense", "event: "},
                                                          {"event=", "names no event"},
                                                          {"call_graph=lbr", "call_graph: "},
                                                          {"max_stack=0", "max_stack: "},
                                                          {"force=yes", "force: "},
                                                          {"format=svg", "format: "},
                                                          {"output=/etc/passwd", "unknown parameter output"},
                                                          {"duration=1s&duration=2s", "given twice"},
                                                          {"pid=1&unit=x", "one of pid, unit and cgroup"},
                                                          {"raw=true", "format=stream"},
                                                          {"label=%4", "hexadecimal"},
                                                          {"label=%zz", "hexadecimal"}}) {
        const auto request = parse(query);
        ASSERT_FALSE(request) << query;
        EXPECT_THAT(request.error().message, HasSubstr(why)) << query;
    }
    std::string pids = "pid=1";
    for (int i = 0; i < 64; ++i) pids += ",1";
    EXPECT_FALSE(parse(pids));
    EXPECT_FALSE(parse("label=" + std::string(81, 'x')));
    EXPECT_EQ(parse("label=%1b[31m")->label.find('\x1b'), std::string::npos) << "escaped";
}

TEST(CaptureCostTest, OfWholeCpus) {
    collector::RecordingOptions recording;
    recording.tuning.frequency = 999;
    recording.events = {{"cycles", collector::kTypeHardware, collector::kHwCpuCycles},
                        {"cpu-clock", collector::kTypeSoftware, collector::kSwCpuClock}};
    const auto cost = predict_cost(recording, {.host_cpus = 4, .recorded_cpus = 4}, 10us);
    EXPECT_DOUBLE_EQ(cost.samples_per_second, 999.0 * 2 * 4);
    EXPECT_NEAR(cost.kernel, 999 * 2 * 10e-6, 1e-9) << "of each CPU, so of the host";
    EXPECT_GT(cost.own, 0);
    const auto no_pmu = predict_cost(recording, {.host_cpus = 4, .recorded_cpus = 4, .has_pmu = false}, 10us);
    EXPECT_DOUBLE_EQ(no_pmu.samples_per_second, 999.0 * 4) << "cycles are not there to be sampled";
    const auto half = predict_cost(recording, {.host_cpus = 4, .recorded_cpus = 2}, 10us);
    EXPECT_NEAR(half.all(), cost.all() / 2, 1e-9);
}

TEST(CaptureCostTest, OfProcessesByTheThreadsThatCanRunAtATime) {
    collector::RecordingOptions recording;
    recording.tuning.frequency = 1000;
    recording.events.resize(1);
    const auto cost_of = [&](std::size_t threads) {
        return predict_cost(recording, {.host_cpus = 8, .recorded_cpus = 8, .threads = threads}, 10us);
    };
    EXPECT_DOUBLE_EQ(cost_of(1).samples_per_second, 1000);
    EXPECT_DOUBLE_EQ(cost_of(3).samples_per_second, 3000);
    EXPECT_DOUBLE_EQ(cost_of(100).samples_per_second, 8000) << "no more than CPUs";
    const double frame_pointers = cost_of(1).all();
    recording.call_chains = CallChains::kStackDumps;
    EXPECT_GT(cost_of(1).all(), 2 * frame_pointers);
    EXPECT_THAT(cost_text(cost_of(1), 8), HasSubstr("up to 1000 samples/s"));
    // Names: 0.4 s once, of the CPU time of its 10 s on 8 CPUs.
    EXPECT_NEAR(cost_of(1).names, 0.4 / 80, 1e-9);
    EXPECT_NEAR(cost_of(1).in_the_end(), cost_of(1).all() + 0.005, 1e-9);
    EXPECT_THAT(cost_text(cost_of(1), 8), HasSubstr("with the 0.4 s that names take at its end"));
}

}  // namespace
}  // namespace perfvigil::daemon
