// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/events.hpp"

#include <gtest/gtest.h>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::EventIndex;
using collector::EventInfo;
using collector::EventRole;

EventInfo hybrid_event(std::string name, std::uint64_t pmu, std::uint64_t config = collector::kHwCpuCycles) {
    auto attr = test::cycles_attr();
    attr.config = pmu << 32U | config;
    return {std::move(name), EventRole::kSampling, attr};
}

std::vector<std::string> names_of(ProfileEvents& events) {
    std::vector<std::string> names;
    for (const auto& event : events.take()) names.push_back(event.name);
    return names;
}

EventInfo core_event(std::string name, std::uint32_t pmu_type) {
    auto attr = test::cycles_attr();
    attr.type = pmu_type;
    attr.config = 0x11;
    return {std::move(name), EventRole::kSampling, attr};
}

TEST(HybridName, IsOfCoreTypesAlone) {
    EXPECT_EQ(hybrid_name("cpu_core/cycles/").event, "cycles");
    EXPECT_EQ(hybrid_name("cpu_core/cycles:ppp/").event, "cycles:ppp");
    EXPECT_EQ(hybrid_name("cpu_atom/cycles/u").event, "cycles:u");
    EXPECT_EQ(hybrid_name("cpu_atom/event=0x3c,umask=0x0/").pmu, "cpu_atom");
    EXPECT_EQ(hybrid_name("armv8_cortex_a53/cycles/").event, "cycles");
    for (const auto* name : {"cycles", "cpu/cycles/", "uncore_imc/cas_count_read/", "cpu_core/", "cpu_core", "",
                             "ibs_op/l3missonly=1/", "cpu_core//", "/cycles/", "a b/cycles/", "sched:a/b/"}) {
        EXPECT_EQ(hybrid_name(name).pmu, "") << name;
    }
}

TEST(ProfileEvents, SumTheCoreTypesOfOneEvent) {
    const std::vector<EventInfo> table{hybrid_event("cpu_core/cycles/", 4),
                                       hybrid_event("cpu_atom/cycles/", 10),
                                       {"dummy:HG", EventRole::kSideBand, test::side_band_attr()},
                                       hybrid_event("cpu_core/instructions/", 4, 1),
                                       {"cpu-clock", EventRole::kSampling, test::cpu_clock_attr()}};
    ProfileEvents events(table);
    EXPECT_EQ(events.number_of(EventIndex{0}), 0U);
    EXPECT_EQ(events.number_of(EventIndex{1}), 0U);
    EXPECT_EQ(events.number_of(EventIndex{2}), ProfileEvents::kNone);
    EXPECT_EQ(events.number_of(EventIndex{3}), 1U);
    EXPECT_EQ(events.number_of(EventIndex{4}), 2U);
    EXPECT_EQ(events.index_of(2), EventIndex{4});
    EXPECT_EQ(events[0].unit, WeightUnit::kCycles);
    // What has no counterpart keeps its full name.
    EXPECT_EQ(names_of(events), (std::vector<std::string>{"cycles", "cpu_core/instructions/", "cpu-clock"}));
}

TEST(ProfileEvents, SumTheCoreTypesOfAnyArchitecture) {
    std::vector<EventInfo> table;
    for (std::uint32_t core = 0; core < 4; ++core)
        table.push_back(core_event("armv8_cortex_a" + std::to_string(50 + core) + "/cycles/", 8 + core));
    table.push_back(core_event("armv8_cortex_a50/inst_retired/", 8));
    table.push_back(core_event("armv8_cortex_a51/br_retired/", 9));
    ProfileEvents events(table);
    for (std::uint32_t core = 0; core < 4; ++core) EXPECT_EQ(events.number_of(EventIndex{core}), 0U);
    EXPECT_EQ(events[0].unit, WeightUnit::kCycles);
    EXPECT_EQ(events[1].unit, WeightUnit::kEvents);
    EXPECT_EQ(names_of(events),
              (std::vector<std::string>{"cycles", "armv8_cortex_a50/inst_retired/", "armv8_cortex_a51/br_retired/"}));
    ProfileEvents apart(table);
    apart.split_hybrid();
    EXPECT_EQ(apart.number_of(EventIndex{3}), 3U);
    EXPECT_EQ(apart[3].unit, WeightUnit::kCycles);
    EXPECT_EQ(names_of(apart).size(), 6U);
}

TEST(ProfileEvents, StayApartOnRequest) {
    const std::vector<EventInfo> table{hybrid_event("cpu_core/cycles/", 4), hybrid_event("cpu_atom/cycles/", 10)};
    ProfileEvents events(table);
    events.split_hybrid();
    EXPECT_EQ(names_of(events), (std::vector<std::string>{"cpu_core/cycles/", "cpu_atom/cycles/"}));
    ProfileEvents next(table);
    next.inherit(events);
    EXPECT_EQ(names_of(next).size(), 2U);
}

TEST(ProfileEvents, OfOneCoreTypeAreNotAddedToEachOther) {
    const std::vector<EventInfo> table{hybrid_event("cpu_core/cycles/", 4), hybrid_event("cpu_core/cycles/", 4),
                                       hybrid_event("cpu_atom/cycles/", 10), hybrid_event("cpu_atom/cycles/", 10)};
    ProfileEvents events(table);
    EXPECT_EQ(events.number_of(EventIndex{2}), 0U);
    EXPECT_EQ(events.number_of(EventIndex{3}), 1U);
    EXPECT_EQ(names_of(events), (std::vector<std::string>{"cycles", "cycles"}));
}

TEST(ProfileEvents, MayGrow) {
    std::vector<EventInfo> table{hybrid_event("cpu_core/cycles/", 4)};
    ProfileEvents events(table);
    EXPECT_EQ(events.number_of(EventIndex{0}), 0U);
    table.push_back(hybrid_event("cpu_atom/cycles/", 10));
    EXPECT_EQ(events.number_of(EventIndex{1}), 0U);
    EXPECT_EQ(events.number_of(EventIndex{7}), ProfileEvents::kNone);
    EXPECT_EQ(events[0].name, "cycles");
}

}  // namespace
}  // namespace perfvigil::analyzer
