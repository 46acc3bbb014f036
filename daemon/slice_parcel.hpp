// SPDX-License-Identifier: GPL-2.0-or-later
// One slice on its way from the sampler to the analyst, with what the analyst must know of the recording then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/slice.hpp"
#include "collector/degraded.hpp"
#include "collector/event_table.hpp"
#include "collector/recording_session.hpp"
#include "daemon/metrics.hpp"
#include "daemon/recording_control.hpp"

namespace perfvigil::daemon {

struct SliceParcel {
    std::unique_ptr<analyzer::Slice> slice;
    // Copied when it changes (a replayed stream may name events late).
    std::shared_ptr<const std::vector<collector::EventInfo>> events;
    std::vector<collector::Degraded> degraded;
    std::vector<CpuId> cpus;
    std::optional<collector::SessionCounters> counters;  // absent in a replay
    std::optional<collector::Tuning> tuning;             // absent in a replay
    std::uint64_t dropped_slices = 0;                    // so far: the analyst was too slow
    bool kernel_changed = false;                         // modules or BPF programs came or went
    OverheadNumbers overhead{};                          // so far
    double captures_use = 0;                             // the same of captures on demand, which are not in cpu_use
    double cpu_use = 0;                                  // share of the host's CPU time over this slice …
    double sampling_use = 0;                             // … and what of it the kernel took for samples
    std::vector<std::string> steps;                      // what the loss loop or the budget changed after it
    StepCounts step_counts{};                            // so far
};

}  // namespace perfvigil::daemon
