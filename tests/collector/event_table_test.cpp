// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/event_table.hpp"

#include <gtest/gtest.h>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector {
namespace {

TEST(NominalPeriod, IsTheKernelsTruncatedPeriod) {
    struct Case {
        std::uint32_t type;
        std::uint64_t config;
        bool freq;
        std::uint64_t value;
        std::int64_t ns;
    };
    for (const Case& c : {Case{kTypeSoftware, kSwCpuClock, true, 99, 10101010},
                          {kTypeSoftware, kSwTaskClock, true, 999, 1001001},
                          {kTypeSoftware, kSwCpuClock, true, 1000, 1000000},
                          {kTypeSoftware, kSwCpuClock, true, 0, 0},
                          {kTypeSoftware, kSwCpuClock, false, 250000, 250000},
                          {kTypeSoftware, kSwDummy, true, 99, 0},
                          {kTypeHardware, kHwCpuCycles, true, 99, 0},
                          {kTypeHardware, kHwCpuCycles, false, 1000000, 0}}) {
        EventInfo info;
        info.attr.type = c.type;
        info.attr.config = c.config;
        info.attr.sample_period_or_freq = c.value;
        if (c.freq) info.attr.set(kFlagFreq);
        EXPECT_EQ(info.nominal_period().count(), c.ns) << c.type << ':' << c.config << ' ' << c.value;
    }
}

TEST(EventTable, FindsInstancesByTheKernelsId) {
    EventTable table;
    const EventIndex cycles = table.add_event({"cycles", EventRole::kSampling, test::cycles_attr()});
    const EventIndex clock = table.add_event({"cpu-clock", EventRole::kSampling, test::cpu_clock_attr()});
    EXPECT_EQ(cycles.value, 0U);
    EXPECT_EQ(table.event(clock).name, "cpu-clock");
    ASSERT_EQ(table.events().size(), 2U);

    const RecordLayout layout = RecordLayout::of(test::cpu_clock_attr());
    table.add_instance(EventId{100}, {cycles, CpuId{0}, 0, {}, layout});
    table.add_instance(EventId{101}, {clock, CpuId{1}, 0, Nanoseconds(10101010), layout});
    ASSERT_NE(table.find(EventId{101}), nullptr);
    EXPECT_EQ(table.find(EventId{101})->event, clock);
    EXPECT_EQ(table.find(EventId{101})->cpu, CpuId{1});
    EXPECT_EQ(table.find(EventId{101})->layout, layout);
    EXPECT_EQ(table.find(EventId{102}), nullptr);

    table.add_instance(EventId{101}, {clock, CpuId{1}, 1, Nanoseconds(20202020), layout});
    EXPECT_EQ(table.find(EventId{101})->generation, 1U) << "the later of one id wins";
    EXPECT_EQ(table.instances().size(), 2U);

    table.remove_instance(EventId{101});
    table.remove_instance(EventId{999});
    EXPECT_EQ(table.find(EventId{101}), nullptr);
    EXPECT_EQ(table.instances().size(), 1U);
}

}  // namespace
}  // namespace perfvigil::collector
