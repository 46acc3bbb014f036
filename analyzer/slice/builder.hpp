// SPDX-License-Identifier: GPL-2.0-or-later
// Ordered records in, slices out. Applies each record to the process table first, then accounts and aggregates it.
// Runs on the sampler's thread: allocates nothing per sample in the steady state.
//
// A slice is what is delivered between two cuts. A cut's READ records come right before it, so each CPU's stretch ends
// with its last one; a READ within a slice ends or begins the stretch of one instance, and the slice goes on.
//
//   record ─▶ processes ─▶ chain resolver ─▶ frames, mode ─▶ slice tables    (stacks, actors, entries)
//                                                  └───────▶ CPU accounts    (time, loss, totals)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/exclusion.hpp"
#include "analyzer/sample_filter.hpp"
#include "analyzer/slice.hpp"
#include "analyzer/slice/kernel_text.hpp"
#include "analyzer/unwind/user_chains.hpp"
#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::analyzer {

struct SliceLimits {
    // Of one slice's tables. From three quarters on new chains keep their innermost 8 frames; at the limit all that is
    // new is one entry of its own (SliceTables). Who cuts rarely needs more.
    std::size_t max_bytes = 16U << 20;
    // Depth at which a chain counts as truncated, where the event's attr does not say (sysctl
    // kernel.perf_event_max_stack). 0: never.
    std::uint16_t max_stack = 127;
};

class SliceBuilder final : public collector::RecordSink {
public:
    using Deliver = std::function<void(std::unique_ptr<Slice>)>;

    // `processes` and `events` outlive the builder; records are applied to `processes` here and nowhere else.
    SliceBuilder(const collector::EventTable& events, collector::ProcessTable& processes, KernelText text,
                 SliceLimits limits, Deliver deliver);
    ~SliceBuilder() override;

    // Hands over what a slice holds so far whenever `length` of the stream's time has passed: such a part has the
    // samples of its stretch, and no totals and CPUs, for counters are read at cuts alone. The slice that a cut ends
    // then holds the samples since its last part, and totals and CPUs of all of it. Before the first record.
    void set_parts(Nanoseconds length, Deliver deliver);

    void on_record(const collector::OrderedRecord& record) override;
    void on_cut(const collector::Cut& cut) override;
    // Code was placed in the process (ProcessTable::place_code).
    void code_placed(Pid pid);

    // A delivered slice that is no longer needed; its memory serves the next one.
    void recycle(std::unique_ptr<Slice> slice);

    // Kernel text changed (module loaded) or became known. While it is empty idle is told from the task alone, and
    // slices say so (Slice::idle_by_task).
    void set_kernel_text(KernelText text);

    // Unwinds samples that hold a copy of the user stack; nullptr: of such samples the user callers are not known. It
    // outlives the builder.
    void set_user_chains(UserChains* chains);

    // /proc/stat as it stood when the recording began (HostFacts::cpu_times.front()): without it the first slice cannot
    // split what its samples do not explain.
    void set_baseline_times(const std::vector<collector::CpuTimes>& times);

    // What it takes is counted as (excluded), without names and call chains. Before the first record; it outlives the
    // builder.
    void exclude(Exclusion* exclusion);

    // From here on only samples that the selection takes reach the slices' stacks, totals and CPUs; the others are
    // counted as left out (EventTotals). Side-band records always pass. Threads and CPUs are told apart where asked.
    void select(const SampleSelection& selection, std::optional<SampleSpan> span);
    [[nodiscard]] const SampleFilter& filter() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::analyzer
