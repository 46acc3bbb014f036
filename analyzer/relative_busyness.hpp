// SPDX-License-Identifier: GPL-2.0-or-later
// The CPUs' shares of the cycles against their shares of the clock's samples. It compares the CPUs of one recording
// with each other and says nothing of how busy any of them was: all are 1 where all are alike, idle or full.
#pragma once

#include <span>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// By position in `cpus`; 0 where a CPU has no clock sample, or none has cycles. Cycles as counted, or as sampled where
// the counters of none were read (captures of others).
[[nodiscard]] std::vector<double> relative_busyness(std::span<const ProfileCpu> cpus);

}  // namespace perfvigil::analyzer
