// SPDX-License-Identifier: GPL-2.0-or-later
// Records that perf's user space writes into a capture: events and features of pipes, names, compression.
// Source: tools/lib/perf/include/perf/event.h.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "collector/capture_reader_state.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint64_t kEventUpdateName = 2;
constexpr std::size_t kEventTypeNameSize = 64;

}  // namespace

void CaptureReader::State::take_user_record(const RecordInput::Next& record, RecordSink& sink) {
    const Bytes payload = record.bytes.subspan(kRecordHeaderSize);
    switch (record.header.type) {
        case kRecordHeaderAttr: return take_attr(payload);
        case kRecordHeaderFeature: return take_feature(payload);
        case kRecordEventUpdate: return take_event_update(payload);
        case kRecordEventType: return take_event_type(payload);
        case kRecordIdIndex: return take_id_index(payload);
        case kRecordFinishedRound: return end_round(sink);
        case kRecordFinishedInit: return delivery.deliver(std::nullopt, record.bytes, 0, sink);
        case kRecordCompressed:
        case kRecordCompressed2: return take_compressed(record, sink);
        case kRecordBuildId: {
            auto ids = read_build_ids(record.bytes, endian());
            std::move(ids.begin(), ids.end(), std::back_inserter(source.features.build_ids));
            return;
        }
        case kRecordAuxtrace: {
            ByteReader size(payload, endian());
            input().skip(size.u64());
            return;
        }
        case kRecordTracingData: {
            // In pipes the data follow the record, padded to 8; simpleperf puts them inside.
            ByteReader body(payload, endian());
            const std::uint64_t size = body.u32();
            if (body.remaining() >= size && size != 0) return;
            input().skip((size + 7) / 8 * 8);
            return;
        }
        default: return;  // counted; nothing in them concerns us
    }
}

void CaptureReader::State::take_attr(Bytes payload) {
    constexpr std::uint32_t kOldestAttr = 64;
    ByteReader in(payload, endian());
    in.skip(4);
    std::uint32_t size = in.u32();
    if (size == 0) size = kOldestAttr;
    auto attr = decode_attr(payload, endian());
    if (!attr || size > payload.size()) {
        warn(fmt::format("an event of the pipe cannot be read: {}", attr ? "it is cut" : attr.error().message));
        return;
    }
    StoredAttr stored{*attr, {}};
    ByteReader ids(payload.subspan(size), endian());
    while (ids.remaining() >= 8) stored.ids.push_back(EventId{ids.u64()});
    std::string name;
    const std::size_t position = events.file_events();
    if (position < source.features.events.size()) name = source.features.events[position].name;
    events.add(stored, std::move(name), endian());
}

void CaptureReader::State::take_feature(Bytes payload) {
    ByteReader in(payload, endian());
    const std::uint64_t bit = in.u64();
    const Bytes section = in.rest();
    // perf ends the features with one that has no content and the number after the last it knows.
    if (!in.ok() || bit >= kFeatureBits || bit == kFeatureHostFacts || section.empty()) return;
    std::vector<std::string> sentences;
    decode_feature(static_cast<unsigned>(bit), section, endian(), source.features, sentences);
    for (auto& sentence : sentences) warn(std::move(sentence));
    apply_event_names();
}

void CaptureReader::State::take_event_update(Bytes payload) {
    ByteReader in(payload, endian());
    const std::uint64_t what = in.u64();
    const EventId id{in.u64()};
    if (in.ok() && what == kEventUpdateName) events.rename(id, std::string(in.text_field(in.remaining())));
}

// Names of events by their config, before 2012. They help only where the attr does not tell by itself.
void CaptureReader::State::take_event_type(Bytes payload) {
    ByteReader in(payload, endian());
    const std::uint64_t config = in.u64();
    const std::string name(in.text_field(std::min(kEventTypeNameSize, in.remaining())));
    if (in.ok() && !name.empty()) events.rename_tracepoint(config, name);
}

void CaptureReader::State::take_id_index(Bytes payload) {
    constexpr std::uint64_t kAny = ~std::uint64_t{0};
    ByteReader in(payload, endian());
    std::uint64_t left = in.u64();
    for (; left > 0 && in.remaining() >= 32; --left) {
        const EventId id{in.u64()};
        const std::uint64_t position = in.u64();
        const std::uint64_t cpu = in.u64();
        const std::uint64_t tid = in.u64();
        const bool whole_cpu = tid == kAny || tid == 0xffffffff;
        if (whole_cpu && cpu <= UINT16_MAX) events.set_cpu(id, position, CpuId{static_cast<std::uint32_t>(cpu)});
    }
}

void CaptureReader::State::take_compressed(const RecordInput::Next& record, RecordSink& sink) {
    if (stream_damaged) return;
    Bytes data = record.bytes.subspan(kRecordHeaderSize);
    if (record.header.type == kRecordCompressed2) {
        ByteReader in(data, endian());
        data = in.take(in.u64());
        stream_damaged = !in.ok();
    }
    // One inside another would pull the ground from under the first.
    if (inside_compressed) stream_damaged = true;
    auto added =
        stream_damaged ? fail(ErrorCode::kInvalid, "a compressed record with no sense in it") : decompressed.add(data);
    if (!added) {
        stream_damaged = true;
        warn(fmt::format("at {:#x}: {}; what was compressed before it was kept, what comes after it is lost",
                         record.offset, added.error().message));
    }
    if (inside_compressed) return;
    inside_compressed = true;
    take_records_of(RecordInput(decompressed.bytes(), record.offset, endian()), record.offset, sink);
    inside_compressed = false;
    bound_memory(sink);
}

void CaptureReader::State::take_records_of(RecordInput inner, std::uint64_t offset, RecordSink& sink) {
    for (;;) {
        auto next = inner.next();
        if (!next) {
            // A record that goes on in the next compressed one is no damage.
            const bool damaged = next.error().reason == RecordInput::Stop::Reason::kDamaged;
            if (damaged && !std::exchange(stream_damaged, true)) {
                warn(
                    fmt::format("in the compressed record at {:#x}: {}; what was before it was kept, what comes "
                                "after it is lost",
                                offset, next.error().cause));
            }
            break;
        }
        next->offset = offset;
        take(*next, false, sink);
    }
    decompressed.keep(inner.rest());
}

}  // namespace perfvigil::collector
