// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record_delivery.hpp"

namespace perfvigil::collector {
namespace {

// TimeOrder carries one number per record: where it came from.
std::uint32_t tag_of(RingKind kind, std::uint32_t generation) {
    return generation << 1U | (kind == RingKind::kSideBand ? 1U : 0U);
}
RingKind kind_of(std::uint32_t tag) { return (tag & 1U) != 0 ? RingKind::kSideBand : RingKind::kSamples; }
std::uint32_t generation_of(std::uint32_t tag) { return tag >> 1U; }

bool is_sample(Bytes record) {
    const auto header = peek_header(record);
    return header && header->type == kRecordSample;
}

}  // namespace

void RecordDelivery::set_layouts(const RecordLayout& samples, const RecordLayout& side_band) {
    samples_ = samples;
    side_band_ = side_band;
}

void RecordDelivery::push(Bytes record, RingKind kind, std::uint32_t generation) {
    const RecordKey key = peek_key(record, layout(kind));
    if (!key.time) {
        ++counters_.malformed_records;
        return;
    }
    push_at(*key.time, record, kind, generation);
}

void RecordDelivery::push_at(MonotonicTime time, Bytes record, RingKind kind, std::uint32_t generation) {
    order_.push_copy(time, record, tag_of(kind, generation));
}

void RecordDelivery::deliver_before(MonotonicTime limit, RecordSink& sink) {
    order_.flush_before(limit, [&](const TimeOrder::Item& item) {
        if (!accepts(generation_of(item.tag), item.time)) {
            if (is_sample(item.bytes())) ++counters_.duplicate_samples;
            return;
        }
        const bool late = item.time < last_cut_;
        if (late) ++counters_.late_records;
        deliver(item.time, item.bytes(), kind_of(item.tag), late, sink);
    });
}

void RecordDelivery::deliver_now(Bytes record, RingKind kind, RecordSink& sink) {
    if (const auto time = peek_key(record, layout(kind)).time) deliver(*time, record, kind, false, sink);
}

void RecordDelivery::switch_to(std::uint32_t generation, MonotonicTime time) {
    generation_ = generation;
    generation_start_ = time;
}

bool RecordDelivery::accepts(std::uint32_t generation, MonotonicTime time) const {
    if (generation == generation_) return time >= generation_start_;
    return generation < generation_ && time < generation_start_;
}

void RecordDelivery::deliver(MonotonicTime time, Bytes bytes, RingKind kind, bool late, RecordSink& sink) {
    const auto record = decode_record(bytes, layout(kind));
    if (!record) {
        ++counters_.malformed_records;
        return;
    }
    ++counters_.records;
    if (std::holds_alternative<SampleRecord>(*record)) ++counters_.samples;
    const SampleId& id = sample_id_of(*record);
    const EventInstance* event = events_.find(id.id);
    if (event == nullptr && id.has(kSampleIdentifier)) ++counters_.unknown_ids;
    sink.on_record({time, event, *record, bytes, late});
}

}  // namespace perfvigil::collector
