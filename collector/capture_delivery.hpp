// SPDX-License-Identifier: GPL-2.0-or-later
// From a capture's records in their final order to the sink: decodes, splits group reads, makes the cuts.
// Captures of ours are cut where their recorder cut them; others every five seconds of their own time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "collector/capture_counts.hpp"
#include "collector/capture_events.hpp"
#include "collector/group_reads.hpp"
#include "collector/host_facts.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

class CaptureDelivery {
public:
    CaptureDelivery(CaptureEvents& events, CaptureCounts& counts, HostFacts& host)
        : events_(events), counts_(counts), host_(host) {}

    // The recorder's cuts, in order. `whole`: the recorder finished the file, so the last of them ends it.
    void set_cuts(std::vector<Cut> cuts, bool whole);

    // `time` absent: the record has none, or none that means anything (0, ~0).
    void deliver(std::optional<MonotonicTime> time, Bytes record, std::uint32_t slot, RecordSink& sink);
    // A round mark in a capture of ours.
    void recorded_cut(RecordSink& sink);
    // The end of the capture: the last cut, unless it was made.
    void finish(RecordSink& sink);

    // The first record that its event's layout did not fit.
    [[nodiscard]] const std::optional<Bytes>& first_malformed() const { return first_malformed_; }

private:
    void cut_by_time(MonotonicTime time, RecordSink& sink);
    void make_cut(const Cut& cut, RecordSink& sink);
    void note_kernel(const MmapRecord& mmap);
    void note_module(const MmapRecord& mmap);
    void deliver_read_sample(const OrderedRecord& ordered, const SampleRecord& sample, RecordSink& sink);
    [[nodiscard]] WallTime wall_of(MonotonicTime time) const;

    CaptureEvents& events_;
    CaptureCounts& counts_;
    HostFacts& host_;
    GroupReads reads_;
    bool ours_ = false;
    bool whole_ = false;
    std::vector<Cut> cuts_;
    std::size_t next_cut_ = 0;
    std::optional<MonotonicTime> boundary_;  // foreign captures: where the next cut is due
    MonotonicTime last_time_ = MonotonicTime::min();
    MonotonicTime last_cut_ = MonotonicTime::min();
    bool ended_ = false;
    std::optional<Bytes> first_malformed_;
};

}  // namespace perfvigil::collector
