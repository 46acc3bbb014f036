// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/jit_placements.hpp"

#include <algorithm>
#include <ctime>
#include <utility>
#include <variant>

namespace perfvigil::analyzer {

using collector::MmapRecord;

namespace {

constexpr std::size_t kMaxSources = 4096;  // markers of one capture

}  // namespace

void JitPlacements::before(const collector::OrderedRecord& record) {
    if (record.time < next_due_ || !std::holds_alternative<collector::SampleRecord>(record.record)) return;
    next_due_ = MonotonicTime::max();
    for (Source& source : sources_) {
        if (!std::exchange(source.asked, true)) source.code = code_of_(source.marker);
        while (source.next < source.code.size() && source.code[source.next].time <= record.time) place_next(source);
        if (source.next < source.code.size()) next_due_ = std::min(next_due_, source.code[source.next].time);
    }
}

void JitPlacements::after(const collector::OrderedRecord& record) {
    const auto* mmap = std::get_if<MmapRecord>(&record.record);
    if (mmap == nullptr || !mmap->executable() || !pid_of_jit_marker(mmap->path)) return;
    const auto* process = analysis_.processes().find(mmap->pid);
    const auto* mapping = process == nullptr ? nullptr : process->maps.find(mmap->start);
    if (mapping == nullptr || sources_.size() >= kMaxSources) return;
    const auto known = std::ranges::any_of(
        sources_, [&](const Source& source) { return source.pid == mmap->pid && source.marker == mapping->dso; });
    if (known) return;
    if (!same_clock()) {
        refusal_ =
            "Code that jitdumps describe has no names: the recording's clock is not that of the dumps. Record with "
            "perf record -k mono, or with perfvigil.";
        return;
    }
    sources_.push_back({.pid = mmap->pid, .marker = mapping->dso});
    next_due_ = MonotonicTime::min();
}

void JitPlacements::place_next(Source& source) {
    const JitCode& code = source.code[source.next++];
    analysis_.place_code(
        source.pid,
        {.start = code.start, .end = code.start + code.size, .page_offset = code.code, .dso = source.marker});
}

bool JitPlacements::same_clock() const {
    return std::ranges::any_of(events_.events(), [](const collector::EventInfo& event) {
        return event.attr.flag(collector::kFlagUseClockid) && event.attr.clockid == CLOCK_MONOTONIC;
    });
}

}  // namespace perfvigil::analyzer
