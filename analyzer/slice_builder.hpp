// SPDX-License-Identifier: GPL-2.0-or-later
// Ordered records in, slices out. Applies each record to the process table first, then accounts and aggregates it.
// Runs on the sampler's thread: allocates nothing per sample in the steady state.
//
// A CPU's part of a slice ends at its READ record before the cut; samples of that CPU after it go to the next slice.
// Captures without READ records are cut at the cut's time.
#pragma once

#include <functional>
#include <memory>

#include "analyzer/kernel_text.hpp"
#include "analyzer/slice.hpp"
#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::analyzer {

struct SliceLimits {
    std::size_t max_bytes = 16U << 20;  // frames + stacks of one slice; beyond it chains lose their outermost frames
    std::uint16_t max_stack = 127;      // depth at which a chain counts as truncated
};

class SliceBuilder final : public collector::RecordSink {
public:
    using Deliver = std::function<void(std::unique_ptr<Slice>)>;

    // `processes` and `events` outlive the builder; records are applied to `processes` here and nowhere else.
    SliceBuilder(const collector::EventTable& events, collector::ProcessTable& processes, KernelText text,
                 SliceLimits limits, Deliver deliver);
    ~SliceBuilder() override;

    void on_record(const collector::OrderedRecord& record) override;
    void on_cut(const collector::Cut& cut) override;

    // A delivered slice that is no longer needed; its memory serves the next one.
    void recycle(std::unique_ptr<Slice> slice);

    // Kernel text changed (module loaded) or became known.
    void set_kernel_text(KernelText text);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::analyzer
