// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "collector/capture_reader_state.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kRecordsPerPump = 65536;
constexpr std::size_t kMaxWarnings = 64;
// Beyond it a time means nothing (perf writes ~0 for "none"), and sums of two could overflow.
constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 61;
constexpr std::uint32_t kFirstUserSpaceRecord = 64;

std::optional<MonotonicTime> meaningful(std::optional<MonotonicTime> time) {
    if (!time || to_ns(*time) == 0 || to_ns(*time) > kMaxTime) return std::nullopt;
    return time;
}

}  // namespace

CaptureReader::State::State(CaptureSource opened) : source(std::move(opened)) {
    for (auto& warning : source.warnings) warn(std::move(warning));
    CaptureFeatures& features = source.features;
    // Facts that list no event for the file's attrs are not those of the recorder that wrote them.
    ours = features.facts && endian() == Endian::kNative && (source.attrs.empty() || !features.facts->events.empty());
    if (ours) {
        events.add_ours(source.attrs, *features.facts);
        features.host = std::move(features.facts->host);
        for (const Cut& cut : features.facts->cuts) {
            if (!cut.cpu_times.empty()) features.host.cpu_times.push_back({cut.time, cut.cpu_times});
        }
        delivery.set_cuts(std::move(features.facts->cuts), source.facts_whole);
    } else {
        add_file_events();
    }
}

void CaptureReader::State::add_file_events() {
    const auto vendor_names = simpleperf_event_names(source.features);
    for (std::size_t i = 0; i < source.attrs.size(); ++i) {
        std::string name;
        if (source.features.events.size() == source.attrs.size())
            name = source.features.events[i].name;
        else if (vendor_names.size() == source.attrs.size())
            name = vendor_names[i];
        events.add(source.attrs[i], std::move(name), endian());
    }
    if (source.features.events.size() != source.attrs.size()) apply_event_names();
    for (const auto& [id, name] : source.features.tracepoints) events.rename_tracepoint(id, name);
}

// Descriptions that come apart from the attrs (pipes) find them by id.
void CaptureReader::State::apply_event_names() {
    for (; named_events < source.features.events.size(); ++named_events) {
        const EventDescription& event = source.features.events[named_events];
        for (const EventId id : event.ids) events.rename(id, event.name);
    }
}

void CaptureReader::State::warn(std::string sentence) {
    if (warnings.size() < kMaxWarnings)
        warnings.push_back(std::move(sentence));
    else
        ++warnings_left_out;
}

void CaptureReader::State::count(const RecordHeader& header) {
    ++counts.records;
    if (header.type >= type_counts.size()) {
        ++counts.by_type[header.type];
        return;
    }
    std::uint64_t*& counter = type_counts[header.type];
    if (counter == nullptr) counter = &counts.by_type[header.type];
    ++*counter;
}

void CaptureReader::State::take(const RecordInput::Next& record, bool stable, RecordSink& sink) {
    count(record.header);
    if (record.header.type < kFirstUserSpaceRecord)
        take_kernel_record(record, stable, sink);
    else
        take_user_record(record, sink);
}

void CaptureReader::State::take_kernel_record(const RecordInput::Next& record, bool stable, RecordSink& sink) {
    const auto match = events.match(record.bytes, record.header);
    const bool sample = record.header.type == kRecordSample;
    if (sample) {
        ++counts.samples;
        if (match.slot == 0 && !match.unknown_id && !std::exchange(ambiguity_said, true)) {
            warn(fmt::format("at {:#x}: samples name no event and the capture has {}: they cannot be told apart",
                             record.offset, events.file_events()));
        }
    }
    if (match.unknown_id) ++counts.unknown_ids;
    ByteReader body(record.bytes.subspan(kRecordHeaderSize), endian());
    if (record.header.type == kRecordLost) {
        ++counts.lost_records;
        body.skip(8);
        counts.lost_events += body.u64();
    } else if (record.header.type == kRecordLostSamples) {
        counts.lost_samples += body.u64();
    }
    const auto time = meaningful(match.time);
    // Ours were written in their order; what has no time has no other place than this one.
    if (ours || !time)
        delivery.deliver(time, record.bytes, match.slot, sink);
    else
        order.push(*time, record.bytes, match.slot, stable);
}

void CaptureReader::State::end_round(RecordSink& sink) {
    if (ours) {
        delivery.recorded_cut(sink);
        return;
    }
    // The files of a folder have their rounds each for itself, so none of them says anything about all.
    if (source.inputs.size() > 1) return;
    order.end_round([&](const TimeOrder::Item& item) { delivery.deliver(item.time, item.bytes(), item.tag, sink); });
}

bool CaptureReader::State::step(RecordSink& sink) {
    // A round of ours ends with a slice's cut: whoever replays the capture keeps its pace between two stretches.
    bool round_ended = false;
    for (std::size_t i = 0; i < kRecordsPerPump && !round_ended; ++i) {
        if (current_input == source.inputs.size()) return false;
        auto next = input().next();
        if (next) {
            take(*next, input().stable(), sink);
            round_ended = ours && next->header.type == kRecordFinishedRound;
            continue;
        }
        end_input(next.error());
        ++current_input;
        decompressed = DecompressedRecords();
        stream_damaged = false;
    }
    bound_memory(sink);
    return true;
}

void CaptureReader::State::bound_memory(RecordSink& sink) {
    order.bound([&](const TimeOrder::Item& item) { delivery.deliver(item.time, item.bytes(), item.tag, sink); });
}

void CaptureReader::State::end_input(const RecordInput::Stop& stop) {
    using Reason = RecordInput::Stop::Reason;
    const auto kept = fmt::format("{} whole records before it were read", counts.records);
    switch (stop.reason) {
        case Reason::kEnd: break;
        case Reason::kTruncated: warn(fmt::format("cut at {:#x}: {}; {}", stop.offset, stop.cause, kept)); break;
        case Reason::kDamaged:
            warn(fmt::format("damaged at {:#x}: {}; {}, {} was not", stop.offset, stop.cause, kept,
                             input().stable() ? fmt::format("the rest of {} bytes", input().rest().size())
                                              : std::string("what follows")));
            break;
        case Reason::kIo: warn(fmt::format("reading failed at {:#x}: {}; {}", stop.offset, stop.cause, kept)); break;
    }
    if (!decompressed.bytes().empty() && !stream_damaged) {
        warn(fmt::format("the compressed data end within a record: {} bytes of it were left out",
                         decompressed.bytes().size()));
    }
}

void CaptureReader::State::end(RecordSink& sink) {
    if (std::exchange(ended, true)) return;
    order.finish([&](const TimeOrder::Item& item) { delivery.deliver(item.time, item.bytes(), item.tag, sink); });
    counts.out_of_order = order.out_of_order();
    say_what_was_odd();
}

void CaptureReader::State::say_what_was_odd() {
    if (counts.malformed != 0) {
        const Bytes first = *delivery.first_malformed();
        const Bytes file = source.main_file();
        const bool inside = !file.empty() && first.data() >= file.data() && first.data() < file.data() + file.size();
        const auto where =
            inside ? fmt::format("the first at {:#x}", first.data() - file.data()) : "in compressed data";
        warn(fmt::format("{} records do not fit the layout of their event ({}) and were left out", counts.malformed,
                         where));
    }
    if (counts.unknown_ids != 0)
        warn(fmt::format("{} records name an event that the capture does not list", counts.unknown_ids));
    if (counts.out_of_order != 0)
        warn(fmt::format("{} records came later than the capture's rounds allow, out of their order of time",
                         counts.out_of_order));
    if (order.forced() != 0)
        warn("records between two round marks need more memory than allowed: their order of time may be wrong");
    if (warnings_left_out != 0) warnings.push_back(fmt::format("{} further warnings", warnings_left_out));
}

CaptureReader::CaptureReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureReader::~CaptureReader() = default;

Result<std::unique_ptr<CaptureReader>> CaptureReader::open(const std::string& path, std::uint64_t size) {
    auto source = CaptureSource::open(path, size);
    if (!source) return fail(std::move(source.error()));
    return std::unique_ptr<CaptureReader>(new CaptureReader(std::make_unique<State>(std::move(*source))));
}

Result<std::unique_ptr<CaptureReader>> CaptureReader::from_bytes(std::vector<std::byte> bytes, std::string name) {
    auto source = CaptureSource::from_bytes(std::move(bytes), std::move(name));
    if (!source) return fail(std::move(source.error()));
    return std::unique_ptr<CaptureReader>(new CaptureReader(std::make_unique<State>(std::move(*source))));
}

Result<std::unique_ptr<CaptureReader>> CaptureReader::from_stream(UniqueFd fd, std::vector<std::byte> start,
                                                                  std::string name) {
    auto source = CaptureSource::open_stream(std::move(fd), std::move(start), std::move(name));
    if (!source) return fail(std::move(source.error()));
    return std::unique_ptr<CaptureReader>(new CaptureReader(std::make_unique<State>(std::move(*source))));
}

const EventTable& CaptureReader::events() const { return state_->events.table(); }

Result<void> CaptureReader::pump(RecordSink& sink) {
    if (!state_->step(sink)) state_->end(sink);
    return {};
}

std::optional<MonotonicTime> CaptureReader::next_pump() const {
    return state_->ended ? std::nullopt : std::optional(MonotonicTime{});
}

Result<void> CaptureReader::finish(RecordSink& sink) {
    while (!state_->ended) {
        if (auto pumped = pump(sink); !pumped) return pumped;
    }
    if (!std::exchange(state_->finished, true)) state_->delivery.finish(sink);
    if (!state_->events.table().events().empty() || state_->counts.samples != 0) return {};
    const auto& warnings = state_->warnings;
    return fail(ErrorCode::kInvalid, fmt::format("{}: no event and no sample: {}", name(),
                                                 warnings.empty() ? "it is empty" : warnings.back()));
}

const HostFacts& CaptureReader::host() const { return state_->source.features.host; }
bool CaptureReader::ours() const { return state_->ours; }
const std::optional<SampleTimes>& CaptureReader::sample_times() const { return state_->source.features.sample_times; }
bool CaptureReader::streamed() const { return state_->source.streamed; }
const std::vector<CaptureBuildId>& CaptureReader::build_ids() const { return state_->source.features.build_ids; }
const CaptureCounts& CaptureReader::counts() const { return state_->counts; }
const std::vector<std::string>& CaptureReader::warnings() const { return state_->warnings; }
const std::string& CaptureReader::name() const { return state_->source.name; }

}  // namespace perfvigil::collector
