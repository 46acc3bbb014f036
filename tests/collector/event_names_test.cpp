// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/event_names.hpp"

#include <gtest/gtest.h>

namespace perfvigil::collector {
namespace {

TEST(EventNames, AreThoseOfPerf) {
    struct Case {
        std::uint32_t type;
        std::uint64_t config;
        const char* name;
        bool generic;
    };
    for (const Case& c : {Case{0, 0, "cycles", true},
                          {0, 9, "ref-cycles", true},
                          {0, 0x0000000a00000001, "instructions", true},  // of one PMU of several
                          {0, 77, "type 0, config 0x4d", false},
                          {1, 0, "cpu-clock", true},
                          {1, 9, "dummy", true},
                          {1, 11, "cgroup-switches", true},
                          {2, 314, "tracepoint:314", false},
                          {3, 0x10000, "L1-dcache-load-misses", true},
                          {3, 0x102, "LLC-stores", true},
                          {3, 0x203, "dTLB-prefetchs", true},
                          {3, 0x20000, "type 3, config 0x20000", false},
                          {4, 0x1cb, "r1cb", false},
                          {33, 4, "type 33, config 0x4", false}}) {
        EventAttr attr;
        attr.type = c.type;
        attr.config = c.config;
        EXPECT_EQ(default_event_name(attr), c.name);
        EXPECT_EQ(is_generic_event(attr), c.generic) << c.name;
    }
}

}  // namespace
}  // namespace perfvigil::collector
