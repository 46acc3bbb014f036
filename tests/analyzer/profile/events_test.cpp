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

TEST(HybridName, IsOfCoreTypesAlone) {
    EXPECT_EQ(hybrid_name("cpu_core/cycles/").event, "cycles");
    EXPECT_EQ(hybrid_name("cpu_core/cycles:ppp/").event, "cycles:ppp");
    EXPECT_EQ(hybrid_name("cpu_atom/cycles/u").event, "cycles:u");
    EXPECT_EQ(hybrid_name("cpu_atom/event=0x3c,umask=0x0/").pmu, "cpu_atom");
    for (const auto* name : {"cycles", "cpu/cycles/", "uncore_imc/cas_count_read/", "cpu_core/", "cpu_core", ""}) {
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
