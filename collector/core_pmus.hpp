// SPDX-License-Identifier: GPL-2.0-or-later
// The PMUs of a machine whose cores are not all alike: each counts on the CPUs of its core type alone, so a hardware
// event takes one event per PMU. Source: Documentation/ABI/testing/sysfs-bus-event_source-devices and
// tools/perf/Documentation/intel-hybrid.txt of the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace perfvigil::collector {

struct CorePmu {
    std::string name;        // "cpu_core", "armv8_cortex_a72"
    std::uint64_t type = 0;  // the upper half of an extended hardware event's config
    std::vector<CpuId> cpus;

    friend bool operator==(const CorePmu&, const CorePmu&) = default;
};

// By type; empty where all cores are alike. `root`: before /sys (tests).
[[nodiscard]] std::vector<CorePmu> read_core_pmus(const std::string& root = "");

}  // namespace perfvigil::collector
