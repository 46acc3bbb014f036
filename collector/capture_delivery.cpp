// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_delivery.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "collector/capture_writer.hpp"

namespace perfvigil::collector {
namespace {

constexpr Nanoseconds kForeignSlice = std::chrono::seconds(5);
// A longer silence in a foreign capture is one long slice, so that a damaged time cannot ask for millions of cuts.
constexpr int kMaxEmptySlices = 12;
constexpr std::size_t kMaxModules = 4096;

// Written by our writer from READ records, which the sink gets already.
bool repeats_reads(const Record& record, Bytes bytes) {
    if (!std::holds_alternative<LostSamplesRecord>(record)) return false;
    const auto header = peek_header(bytes);
    return header && (header->misc & kMiscLostFromReads) != 0;
}

}  // namespace

void CaptureDelivery::set_cuts(std::vector<Cut> cuts, bool whole) {
    ours_ = true;
    whole_ = whole;
    cuts_ = std::move(cuts);
}

void CaptureDelivery::deliver(std::optional<MonotonicTime> time, Bytes record, std::uint32_t slot, RecordSink& sink) {
    if (time) {
        if (!ours_) cut_by_time(*time, sink);
        last_time_ = std::max(last_time_, *time);
    }
    const auto decoded = decode_record(record, events_.layout(slot));
    if (!decoded) {
        if (counts_.malformed++ == 0) first_malformed_ = record;
        return;
    }
    if (ours_ && repeats_reads(*decoded, record)) return;
    if (const auto* mmap = std::get_if<MmapRecord>(&*decoded)) note_kernel(*mmap);
    const OrderedRecord ordered{.time = time.value_or(MonotonicTime{}),
                                .event = events_.instance(slot),
                                .record = *decoded,
                                .bytes = record,
                                .late = time && *time < last_cut_};
    const auto* sample = std::get_if<SampleRecord>(&*decoded);
    if (sample != nullptr && sample->sample.has(kSampleRead))
        deliver_read_sample(ordered, *sample, sink);
    else
        sink.on_record(ordered);
}

void CaptureDelivery::deliver_read_sample(const OrderedRecord& ordered, const SampleRecord& sample, RecordSink& sink) {
    const bool with_ids = (sample.read.read_format & kReadId) != 0;
    bool first = true;
    for (std::size_t i = 0; i < sample.read.size(); ++i) {
        const CounterValue member = sample.read[i];
        const EventId id = with_ids ? member.id : sample.sample.id;
        const std::uint32_t slot = with_ids ? events_.slot_of(id) : 0;
        const EventInstance* event = slot != 0 ? events_.instance(slot) : with_ids ? nullptr : ordered.event;
        if (event == nullptr) {
            ++counts_.unknown_ids;
            continue;
        }
        const bool inherited = events_.table().event(event->event).attr.flag(kFlagInherit);
        const auto weight = reads_.weight(id, inherited ? sample.sample.tid : GroupReads::kAnyTid, member.value);
        if (!weight) continue;
        Record split = sample;
        std::get<SampleRecord>(split).period = *weight;
        // The bytes go with the first sample made of them, so that what copies records copies this one once.
        sink.on_record({.time = ordered.time,
                        .event = event,
                        .record = split,
                        .bytes = std::exchange(first, false) ? ordered.bytes : Bytes(),
                        .late = ordered.late});
    }
}

void CaptureDelivery::note_kernel(const MmapRecord& mmap) {
    if ((mmap.misc & kMiscCpumodeMask) != kMiscKernel) return;
    if (!mmap.path.starts_with(kKernelMapping)) return note_module(mmap);
    if (host_.kernel_build_id.empty()) host_.kernel_build_id = mmap.build_id;
    if (host_.kernel_start != 0) return;
    // The offset is the address of the reference symbol, whose name follows the kernel's.
    host_.kernel_start = mmap.page_offset != 0 ? mmap.page_offset : mmap.start;
    host_.kernel_end = mmap.start + mmap.length;
    host_.kernel_reference = mmap.path.substr(kKernelMapping.size());
}

// Captures of ours list their modules themselves.
void CaptureDelivery::note_module(const MmapRecord& mmap) {
    if (ours_ || host_.modules.size() >= kMaxModules) return;
    std::string name(base_name(mmap.path));
    const bool bracketed = name.starts_with('[') && name.ends_with(']') && name.find('.') == std::string::npos;
    if (bracketed) {
        name = name.substr(1, name.size() - 2);
    } else if (const auto suffix = name.find(".ko"); suffix != std::string::npos) {
        name.resize(suffix);
    } else {
        return;  // "[guest.kernel.kallsyms]" and other text that is no module's
    }
    std::ranges::replace(name, '-', '_');
    host_.modules.push_back({.name = std::move(name),
                             .path = std::string(mmap.path),
                             .start = mmap.start,
                             .size = mmap.length,
                             .build_id = mmap.build_id});
}

// Epoch: unknown. Few foreign captures say how their clock relates to wall time.
WallTime CaptureDelivery::wall_of(MonotonicTime time) const {
    if (host_.wall_reference == WallTime{}) return {};
    return host_.wall_reference + (time - host_.monotonic_reference);
}

void CaptureDelivery::make_cut(const Cut& cut, RecordSink& sink) {
    last_cut_ = cut.time;
    ended_ = cut.last;
    sink.on_cut(cut);
}

void CaptureDelivery::cut_by_time(MonotonicTime time, RecordSink& sink) {
    if (!boundary_) boundary_ = time + kForeignSlice;
    for (int empty = 0; time >= *boundary_; ++empty) {
        Cut cut;
        cut.time = *boundary_;
        cut.wall = wall_of(cut.time);
        make_cut(cut, sink);
        const auto behind =
            empty < kMaxEmptySlices ? Nanoseconds(0) : (time - *boundary_) / kForeignSlice * kForeignSlice;
        *boundary_ += behind + kForeignSlice;
    }
}

void CaptureDelivery::recorded_cut(RecordSink& sink) {
    if (ended_) return;
    Cut cut;
    if (next_cut_ < cuts_.size()) {
        cut = cuts_[next_cut_++];
        cut.last = cut.last || (whole_ && next_cut_ == cuts_.size());
    } else {
        cut.time = std::max(last_time_, MonotonicTime{});
        cut.wall = wall_of(cut.time);
    }
    make_cut(cut, sink);
}

void CaptureDelivery::finish(RecordSink& sink) {
    if (ended_) return;
    Cut cut;
    // The record at last_time_ still belongs to the slice.
    cut.time = std::max(last_time_, MonotonicTime{}) + Nanoseconds(1);
    cut.wall = wall_of(cut.time);
    cut.last = true;
    make_cut(cut, sink);
}

}  // namespace perfvigil::collector
