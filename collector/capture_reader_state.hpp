// SPDX-License-Identifier: GPL-2.0-or-later
// The inside of CaptureReader, for its two source files: capture_reader.cpp steps through the inputs and takes the
// kernel's records, capture_reader_user.cpp those that perf's user space adds.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "collector/capture_delivery.hpp"
#include "collector/capture_events.hpp"
#include "collector/capture_reader.hpp"
#include "collector/capture_source.hpp"
#include "collector/decompressed_records.hpp"
#include "collector/round_order.hpp"

namespace perfvigil::collector {

struct CaptureReader::State {
    explicit State(CaptureSource opened);

    // One record of an input; `stable`: its bytes stay where they are until the end.
    void take(const RecordInput::Next& record, bool stable, RecordSink& sink);
    bool step(RecordSink& sink);  // false: nothing is left
    void end_input(const RecordInput::Stop& stop);
    void end(RecordSink& sink);
    void warn(std::string sentence);

    CaptureSource source;
    CaptureEvents events;
    CaptureCounts counts;
    CaptureDelivery delivery{events, counts, source.features.host};
    RoundOrder order;
    std::vector<std::string> warnings;
    std::size_t warnings_left_out = 0;
    bool ours = false;
    bool ended = false;
    bool finished = false;

private:
    void add_file_events();
    void apply_event_names();
    void count(const RecordHeader& header);
    void take_kernel_record(const RecordInput::Next& record, bool stable, RecordSink& sink);
    void take_user_record(const RecordInput::Next& record, RecordSink& sink);
    void take_attr(Bytes payload);
    void take_feature(Bytes payload);
    void take_event_update(Bytes payload);
    void take_event_type(Bytes payload);
    void take_id_index(Bytes payload);
    void take_compressed(const RecordInput::Next& record, RecordSink& sink);
    void take_records_of(RecordInput inner, std::uint64_t offset, RecordSink& sink);
    void end_round(RecordSink& sink);
    void bound_memory(RecordSink& sink);
    void say_what_was_odd();
    [[nodiscard]] RecordInput& input() { return source.inputs[current_input]; }
    [[nodiscard]] Endian endian() const { return source.header.endian; }

    std::size_t current_input = 0;
    std::size_t named_events = 0;  // of features.events, that were applied
    DecompressedRecords decompressed;
    std::array<std::uint64_t*, 128> type_counts{};
    bool stream_damaged = false;  // a compressed record could not be read: what follows it cannot either
    bool inside_compressed = false;
    bool ambiguity_said = false;
};

}  // namespace perfvigil::collector
