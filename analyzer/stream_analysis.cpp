// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/stream_analysis.hpp"

#include <algorithm>
#include <utility>

#include "analyzer/selection_remarks.hpp"

namespace perfvigil::analyzer {

StreamAnalysis::StreamAnalysis(const collector::EventTable& events, Symbolizer& symbolizer, KernelText text,
                               SliceLimits limits, collector::DsoListener* listener)
    : processes_({}, listener),
      profile_(events.events(), symbolizer),
      slices_(events, processes_, std::move(text), limits,
              [this](std::unique_ptr<Slice> slice) { take(std::move(slice)); }) {}

void StreamAnalysis::select(const SampleSelection& selection, std::optional<SampleSpan> span) {
    if (!selection.selects() && !selection.tells_apart()) return;
    slices_.select(selection, span);
    profile_.set_selection(selection);
}

void StreamAnalysis::set_fine_moments(Nanoseconds part) {
    profile_.set_fine_moments(part);
    slices_.set_parts(part, [this](std::unique_ptr<Slice> slice) {
        if (clip(*slice)) profile_.add_part(*slice);
        slices_.recycle(std::move(slice));
    });
}

void StreamAnalysis::take(std::unique_ptr<Slice> slice) {
    drop_cpus(*slice);
    if (clip(*slice)) {
        profile_.add(*slice);
        if (visit_) visit_(*slice);
    } else {
        profile_.add_left_out(*slice);
    }
    slices_.recycle(std::move(slice));
}

void StreamAnalysis::drop_cpus(Slice& slice) const {
    const SampleSelection& selection = slices_.filter().selection();
    if (!keeps_cpus(selection)) {
        slice.cpus.clear();
    } else if (!selection.cpus.empty()) {
        std::erase_if(slice.cpus,
                      [&](const CpuSlice& cpu) { return !std::ranges::binary_search(selection.cpus, cpu.cpu); });
    }
}

// Shortens the slice to the part of it that lies in the time range; false: none does.
bool StreamAnalysis::clip(Slice& slice) const {
    const SampleFilter& filter = slices_.filter();
    if (!filter.selection().time) return true;
    const auto& range = filter.range();
    // A CPU's stretch ends a moment after the cut, so a slice before the range may have a sample in it.
    const bool outside = !range || slice.end <= range->from || slice.start >= range->to;
    if (outside && slice.entries.empty()) return false;
    if (!range) return true;
    const MonotonicTime end = slice.end;
    slice.end = std::clamp(range->to, slice.start, slice.end);
    slice.start = std::clamp(range->from, slice.start, slice.end);
    if (slice.wall_end != WallTime{}) slice.wall_end -= end - slice.end;
    return true;
}

Profile StreamAnalysis::build(const collector::HostFacts& host, std::string id) {
    Profile profile = profile_.build(host, std::move(id));
    add_selection_remarks(profile, slices_.filter(), SampleFilter::Source::kRecording);
    return profile;
}

}  // namespace perfvigil::analyzer
