// SPDX-License-Identifier: GPL-2.0-or-later
// Machines of several core types, by their sysfs and by a kernel that answers as theirs does: an event of one PMU opens
// on its own CPUs only (x86_pmu_event_init of arch/x86/events/core.c).
#include "collector/core_pmus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "collector/open_event_set.hpp"
#include "tests/support/fake_event_kernel.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using Names = std::vector<std::string>;

TEST(CorePmus, AreThoseWithCpus) {
    const test::TempFolder root;
    const std::string devices = "sys/bus/event_source/devices/";
    root.write(devices + "cpu_atom/cpus", "2-3\n");
    root.write(devices + "cpu_atom/type", "10\n");
    EXPECT_TRUE(read_core_pmus(root.path().string()).empty()) << "all cores are of one type";
    root.write(devices + "cpu_core/cpus", "0-1,4\n");
    root.write(devices + "cpu_core/type", "4\n");
    root.write(devices + "uncore_imc_0/cpumask", "0\n");
    root.write(devices + "uncore_imc_0/type", "20\n");
    root.write(devices + "broken/cpus", "all of them\n");
    root.write(devices + "broken/type", "21\n");
    EXPECT_EQ(read_core_pmus(root.path().string()),
              (std::vector<CorePmu>{{"cpu_core", 4, {CpuId{0}, CpuId{1}, CpuId{4}}},
                                    {"cpu_atom", 10, {CpuId{2}, CpuId{3}}}}));
    EXPECT_TRUE(read_core_pmus("/nonexistent").empty());
}

class HybridTest : public testing::Test {
protected:
    HybridTest() {
        kernel.online = {CpuId{0}, CpuId{1}, CpuId{2}, CpuId{3}};
        kernel.pmus = {{"cpu_core", 4, {CpuId{0}, CpuId{1}}}, {"cpu_atom", 10, {CpuId{2}, CpuId{3}}}};
        kernel.on_open = [this](const EventAttr& attr, CpuId cpu, Tid) {
            const std::uint64_t type = attr.type == kTypeHardware ? attr.config >> 32U : 0;
            if (type == 0) return 0;
            if (!extended) return EINVAL;
            const auto pmu = std::ranges::find(kernel.pmus, type, &CorePmu::type);
            return pmu != kernel.pmus.end() && std::ranges::find(pmu->cpus, cpu) != pmu->cpus.end() ? 0 : ENOENT;
        };
    }
    void negotiate_now() {
        auto result = negotiate(kernel, options, CpuId{0}, {});
        ASSERT_TRUE(result) << result.error().message;
        plan = std::move(result->plan);
        degraded = std::move(result->degraded);
    }
    [[nodiscard]] Names names() const {
        Names names;
        for (const auto& event : plan.events) names.push_back(event.name);
        return names;
    }
    // What each CPU's sample ring was opened with.
    std::map<std::uint32_t, std::vector<std::uint64_t>> open_all() {
        indices = add_events(table, plan, options);
        auto opened =
            open_event_set({kernel, table, options, plan, indices, kernel.online, 0, RingFallback::kNone}, degraded);
        EXPECT_TRUE(opened);
        if (!opened) return {};
        set = std::move(*opened);
        std::map<std::uint32_t, std::vector<std::uint64_t>> configs;
        for (const auto& ring : kernel.rings) {
            if (ring->side_band() || ring->closed) continue;
            for (const auto& attr : ring->request.events) configs[ring->request.cpu.value].push_back(attr.config);
        }
        return configs;
    }

    bool extended = true;
    test::TempFolder proc;
    test::ManualClock clock;
    test::FakeEventKernel kernel{clock, proc.path()};
    RecordingOptions options;
    RecordingPlan plan;
    EventTable table;
    std::vector<EventIndex> indices;
    std::vector<Degraded> degraded;
    std::unique_ptr<EventSet> set;
};

constexpr std::uint64_t kCore = 4ULL << 32U;
constexpr std::uint64_t kAtom = 10ULL << 32U;

TEST_F(HybridTest, OneEventPerPmuOnItsCpus) {
    negotiate_now();
    EXPECT_EQ(names(), (Names{"cpu_core/cycles/", "cpu_atom/cycles/", "cpu-clock"}));
    const auto configs = open_all();
    const std::vector<std::uint64_t> core{kCore, kSwCpuClock};
    const std::vector<std::uint64_t> atom{kAtom, kSwCpuClock};
    EXPECT_EQ(configs,
              (std::map<std::uint32_t, std::vector<std::uint64_t>>{{0, core}, {1, core}, {2, atom}, {3, atom}}));
    EXPECT_TRUE(set->missing().empty());
    EXPECT_TRUE(degraded.empty());
    for (const auto& [id, instance] : table.instances()) {
        const bool of_atom = instance.event == indices[1];
        const bool of_core = instance.event == indices[0];
        if (of_atom) {
            EXPECT_GE(instance.cpu->value, 2U);
        }
        if (of_core) {
            EXPECT_LT(instance.cpu->value, 2U);
        }
    }
}

TEST_F(HybridTest, OnlyTheCoreTypesThatAreRecorded) {
    options.cpus = {CpuId{3}};
    negotiate_now();
    EXPECT_EQ(names(), (Names{"cpu_atom/cycles/", "cpu-clock"}));
}

// The kernel then chooses the PMU by the CPU: right for whole CPUs, said for tasks.
TEST_F(HybridTest, WithoutExtendedEventsThePlainOne) {
    extended = false;
    negotiate_now();
    EXPECT_EQ(names(), (Names{"cycles", "cpu-clock"}));
    EXPECT_TRUE(degraded.empty());
    EXPECT_EQ(open_all().at(3), (std::vector<std::uint64_t>{kHwCpuCycles, kSwCpuClock}));
    options.target = Threads{{Tid{7}}};
    negotiate_now();
    ASSERT_EQ(degraded.size(), 1U);
    EXPECT_EQ(degraded[0].reason, "one_core_type");
}

TEST_F(HybridTest, ACpuThatComesLaterIsOfTheTypeThatItsPmuSays) {
    kernel.pmus[1].cpus = {CpuId{2}};
    kernel.online.pop_back();
    negotiate_now();
    (void)open_all();
    kernel.pmus[1].cpus = {CpuId{2}, CpuId{3}};
    ASSERT_TRUE(set->open_cpu(CpuId{3}));
    EXPECT_EQ(kernel.ring(3, false)->request.events.front().config, kAtom);
}

TEST_F(HybridTest, APmuThatRefusesIsMissingOnItsCpus) {
    const auto answer = kernel.on_open;
    kernel.on_open = [answer](const EventAttr& attr, CpuId cpu, Tid tid) {
        return attr.type == kTypeHardware && attr.config == kAtom ? ENOENT : answer(attr, cpu, tid);
    };
    negotiate_now();
    EXPECT_EQ(open_all().at(2), std::vector<std::uint64_t>{kSwCpuClock});
    const auto missing = missing_events(*set);
    ASSERT_TRUE(missing);
    EXPECT_NE(missing->detail.find("cpu_atom/cycles/ could not be opened on 2 of 4 CPUs (2,3)"), std::string::npos)
        << missing->detail;
}

}  // namespace
}  // namespace perfvigil::collector
