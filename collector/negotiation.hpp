// SPDX-License-Identifier: GPL-2.0-or-later
// Finds out, by opening events on one CPU, how much of what was asked this kernel and our rights allow. Every step back
// is reported. perf's order of fallbacks (tools/perf/util/evsel.c), except that nothing is silent and cycles never
// becomes a second cpu-clock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "collector/attr_builder.hpp"
#include "collector/degraded.hpp"
#include "collector/event_kernel.hpp"
#include "collector/thread_list.hpp"

namespace perfvigil::collector {

// What will be opened, on every CPU and in every generation.
struct RecordingPlan {
    std::vector<EventSpec> events;
    FeatureSet features = FeatureSet::all();
    Tuning tuning;
    std::uint16_t kernel_max_stack = 127;
    std::vector<TargetThread> threads;  // empty: whole CPUs
    // Whose events are in `events` once for each; empty: every event is for every CPU.
    std::vector<CorePmu> core_pmus{};

    // The tids for perf_event_open: the threads, or kEveryTask alone.
    [[nodiscard]] std::vector<Tid> tids() const;
    // False: the event is another core type's.
    [[nodiscard]] bool is_for(const EventSpec& event, CpuId cpu) const;
    // Looks again where a CPU is of no known core type: it came online later.
    void learn_core_type(EventKernel& kernel, CpuId cpu);
};

struct Negotiated {
    RecordingPlan plan;
    std::vector<Degraded> degraded;
};

[[nodiscard]] Result<Negotiated> negotiate(EventKernel& kernel, const RecordingOptions& options, CpuId cpu,
                                           std::vector<TargetThread> threads);

// `wanted` as far as kernel.perf_event_max_sample_rate, kernel.perf_event_max_stack, our own limits and
// options.rings_total_bytes (for `cpus` CPUs) allow; ring sizes become powers of two pages. Reports each reduction.
[[nodiscard]] Tuning limit_tuning(EventKernel& kernel, const RecordingOptions& options, const Tuning& wanted,
                                  std::size_t cpus, std::vector<Degraded>& degraded);

// Bytes of all rings of one generation, control pages included.
[[nodiscard]] std::uint64_t ring_bytes(const Tuning& tuning, std::size_t cpus, std::size_t page_size);
// Half the larger ring; false when both are as small as they may be.
[[nodiscard]] bool halve_rings(Tuning& tuning, std::size_t page_size);

// "Permission denied"
[[nodiscard]] std::string errno_text(int error_number);
// Why `what` ("cycles", "ring") could not be had, in one sentence with the way out.
[[nodiscard]] Error open_error(EventKernel& kernel, const RecordingOptions& options, std::string_view what,
                               const OpenFailure& failure);

}  // namespace perfvigil::collector
