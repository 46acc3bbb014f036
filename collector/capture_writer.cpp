// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_writer.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "collector/capture_head.hpp"
#include "collector/capture_header.hpp"
#include "collector/capture_tail.hpp"
#include "collector/record_append.hpp"
#include "collector/state_on_first_use.hpp"
#include "collector/zstd_stream.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kMaxRecordSize = 65535;
constexpr std::uint32_t kFirstUserSpaceRecord = 64;

// Layout and id for records of our own making: the event that would have sent them.
struct Stamp {
    RecordLayout layout;
    EventId id{};
};

Stamp stamp_of(const EventTable& events) {
    Stamp stamp;
    bool found = false;
    for (const auto& [id, instance] : events.instances()) {
        const bool side_band = events.event(instance.event).role == EventRole::kSideBand;
        const bool found_side_band = found && events.event(events.find(stamp.id)->event).role == EventRole::kSideBand;
        if (found && (!side_band || (found_side_band && stamp.id < id))) continue;
        stamp = {instance.layout, id};
        found = true;
    }
    return stamp;
}

}  // namespace

struct CaptureWriter::State {
    State(std::unique_ptr<CaptureFile> opened, const EventTable& table, const HostFacts& facts,
          const ProcessTable& processes, CaptureOptions how)
        : file(std::move(opened)),
          events(table),
          options(std::move(how)),
          head(facts, table),
          stamp(stamp_of(table)),
          first_use(processes, stamp.layout, stamp.id) {}

    [[nodiscard]] Result<void> start();
    void append(Bytes record);
    void write(const OrderedRecord& record);
    void cut(const Cut& made);
    [[nodiscard]] Result<void> flush();
    [[nodiscard]] Result<void> finish();

    std::unique_ptr<CaptureFile> file;
    const EventTable& events;
    CaptureOptions options;
    CaptureHead head;
    Stamp stamp;
    StateOnFirstUse first_use;
    std::uint64_t handed_over = 0;  // bytes given to the file
    std::vector<std::byte> block;   // records not yet compressed
    std::vector<std::byte> ready;   // bytes of the file not yet handed over
    std::uint64_t samples = 0;

private:
    struct Lost {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
    };
    void open_with_baseline();
    void write_kernel();
    void add_modules(const std::vector<KernelModule>& modules);
    void write_module(const KernelModule& module, MonotonicTime time);
    void write_kernel_mmap(MmapRecord mmap, MonotonicTime time);
    void note(const OrderedRecord& record);
    void note_build_id(const Record& record);
    void note_read(EventId id, const ReadRecord& read);
    void close_block();
    void compress(Bytes part);
    void write_lost_samples();

    std::optional<ZstdCompressor> compressor;
    std::optional<Error> failure;  // of compression or of the stream; said at the next flush
    bool head_changed = false;
    std::vector<std::byte> scratch;
    std::vector<std::byte> compressed;
    std::uint64_t bytes_in = 0;   // given to the compressor
    std::uint64_t bytes_out = 0;  // … and received from it
    std::map<EventId, Lost> lost;
    std::map<std::string, BuildId> build_ids;
    std::vector<Cut> cuts;
    MonotonicTime first_sample = MonotonicTime::max();
    MonotonicTime last_sample = MonotonicTime::min();
    MonotonicTime last_time{};
};

Result<void> CaptureWriter::State::start() {
    if (options.compression_level > 0) {
        auto made = ZstdCompressor::create(options.compression_level);
        if (!made) return fail(std::move(made.error()));
        compressor.emplace(std::move(*made));
    }
    if (!options.command_line.empty()) head.host().command_line = options.command_line;
    if (options.baseline != nullptr && options.baseline->cpu_times())
        head.host().cpu_times = {*options.baseline->cpu_times()};
    if (options.baseline != nullptr) add_modules(options.baseline->modules());
    ready = head.first();
    write_kernel();
    open_with_baseline();
    return {};
}

// The kernel and its modules, as perf_event__synthesize_kernel_mmap() and …_modules() name them.
void CaptureWriter::State::write_kernel() {
    const HostFacts& host = head.host();
    if (host.kernel_start != 0 && host.kernel_end > host.kernel_start) {
        const std::string path = std::string(kKernelMapping) + host.kernel_reference;
        write_kernel_mmap({.start = host.kernel_start,
                           .length = host.kernel_end - host.kernel_start,
                           .page_offset = host.kernel_start,
                           .build_id = host.kernel_build_id,
                           .path = path},
                          MonotonicTime{});
    }
    for (const KernelModule& module : host.modules) write_module(module, MonotonicTime{});
}

// A module that was loaded again lies elsewhere now; both places stay, samples of both may be in the file.
void CaptureWriter::State::add_modules(const std::vector<KernelModule>& modules) {
    if (modules.empty()) return;
    auto& known = head.host().modules;
    for (const KernelModule& module : modules) {
        if (std::ranges::find(known, module) == known.end()) known.push_back(module);
    }
    head_changed = true;
}

void CaptureWriter::State::write_module(const KernelModule& module, MonotonicTime time) {
    write_kernel_mmap({.start = module.start, .length = module.size, .build_id = module.build_id, .path = module.path},
                      time);
}

void CaptureWriter::State::write_kernel_mmap(MmapRecord mmap, MonotonicTime time) {
    scratch.clear();
    mmap.misc = kMiscKernel;
    mmap.pid = Pid{-1};
    mmap.tid = Tid{0};
    mmap.sample.id = stamp.id;
    mmap.sample.time = time;
    mmap.protection = 4;  // PROT_EXEC
    append_record(mmap, stamp.layout, scratch);
    append(scratch);
}

void CaptureWriter::State::open_with_baseline() {
    if (options.baseline == nullptr) return;
    for (const auto& [address, record] : options.baseline->kernel_symbols()) append(record);
    for (const auto& [id, read] : options.baseline->reads()) {
        const EventInstance* instance = events.find(id);
        if (instance == nullptr) continue;
        append(read.record);
        const auto decoded = decode_record(read.record, instance->layout);
        if (decoded) note_read(id, std::get<ReadRecord>(*decoded));
    }
}

// Records are not torn apart where that can be avoided: a killed recorder loses whole ones then.
void CaptureWriter::State::append(Bytes record) {
    if (block.size() + record.size() > kCaptureBlockSize) close_block();
    block.insert(block.end(), record.begin(), record.end());
}

void CaptureWriter::State::write(const OrderedRecord& record) {
    // A further member of a group read: its record has been written.
    if (record.bytes.empty()) return;
    if (record.event != nullptr && record.event->layout.endian != Endian::kNative) {
        if (!failure) failure = Error{ErrorCode::kUnsupported, 0, "records of the other byte order cannot be copied"};
        return;
    }
    const auto header = peek_header(record.bytes);
    if (!header || header->size > record.bytes.size()) return;
    if (header->type >= kFirstUserSpaceRecord && header->type != kRecordFinishedInit) return;
    scratch.clear();
    first_use.before(record, scratch);
    for (Bytes rest = scratch; !rest.empty();) {
        const Bytes state = rest.first(peek_header(rest)->size);
        if (const auto decoded = decode_record(state, stamp.layout)) note_build_id(*decoded);
        append(state);
        rest = rest.subspan(state.size());
    }
    if (const EventId id = sample_id_of(record.record).id; record.event != nullptr && head.add(id, *record.event))
        head_changed = true;
    note(record);
    append(record.bytes.first(header->size));
}

void CaptureWriter::State::note(const OrderedRecord& record) {
    last_time = std::max(last_time, record.time);
    if (std::holds_alternative<SampleRecord>(record.record)) {
        ++samples;
        first_sample = std::min(first_sample, record.time);
        last_sample = std::max(last_sample, record.time);
    } else if (const auto* read = std::get_if<ReadRecord>(&record.record)) {
        note_read(read->sample.id, *read);
    } else {
        note_build_id(record.record);
    }
}

void CaptureWriter::State::note_build_id(const Record& record) {
    const auto* mmap = std::get_if<MmapRecord>(&record);
    if (mmap != nullptr && !mmap->build_id.empty()) build_ids.insert_or_assign(std::string(mmap->path), mmap->build_id);
}

void CaptureWriter::State::note_read(EventId id, const ReadRecord& read) {
    if (read.read.size() == 0) return;
    const std::uint64_t count = read.read[0].lost;
    lost.try_emplace(id, Lost{count, count}).first->second.last = count;
}

void CaptureWriter::State::cut(const Cut& made) {
    add_modules(made.modules);
    for (const KernelModule& module : made.modules) write_module(module, made.time);
    close_block();
    // perf writes round marks outside of compression; so does this.
    ByteWriter to(ready);
    to.u32(kRecordFinishedRound);
    to.u16(0);
    to.u16(kRecordHeaderSize);
    cuts.push_back(made);
    if (head.add_all()) head_changed = true;
}

void CaptureWriter::State::close_block() {
    Bytes rest = block;
    while (!rest.empty()) {
        const Bytes part = rest.first(std::min(rest.size(), kCaptureBlockSize));
        rest = rest.subspan(part.size());
        if (compressor)
            compress(part);
        else
            ready.insert(ready.end(), part.begin(), part.end());
    }
    block.clear();
}

void CaptureWriter::State::compress(Bytes part) {
    if (failure) return;
    compressed.clear();
    auto done = compressor->compress(part, compressed);
    if (!done) {
        failure = std::move(done.error());
        return;
    }
    bytes_in += part.size();
    bytes_out += compressed.size();
    const std::size_t size = kRecordHeaderSize + compressed.size();
    assert(size <= kMaxRecordSize);
    ByteWriter to(ready);
    to.u32(kRecordCompressed);
    to.u16(0);
    to.u16(static_cast<std::uint16_t>(size));
    to.bytes(compressed);
}

Result<void> CaptureWriter::State::flush() {
    if (failure) return fail(*failure);
    if (!ready.empty()) {
        handed_over += ready.size();
        if (auto appended = file->append(std::exchange(ready, {})); !appended) return appended;
    }
    if (!std::exchange(head_changed, false)) return {};
    auto now = head.current();
    return now ? file->write_at(0, std::move(*now)) : Result<void>();
}

// The last loss of a ring is never reported inside it; the counters know.
void CaptureWriter::State::write_lost_samples() {
    for (const auto& [id, count] : lost) {
        if (count.last <= count.first) continue;
        const EventInstance* instance = events.find(id);
        LostSamplesRecord record{.lost = count.last - count.first};
        record.sample.id = id;
        record.sample.time = last_time;
        if (instance != nullptr && instance->cpu) record.sample.cpu = *instance->cpu;
        scratch.clear();
        append_record(record, instance != nullptr ? instance->layout : stamp.layout, scratch, kMiscLostFromReads);
        append(scratch);
    }
}

Result<void> CaptureWriter::State::finish() {
    write_lost_samples();
    close_block();
    (void)head.add_all();
    const std::uint64_t data_end = handed_over + ready.size();
    CaptureHeader header;
    header.data.size = data_end - head.data_offset();
    CaptureSummary summary{.build_ids = std::move(build_ids)};
    if (samples > 0) summary.sample_times = {first_sample, last_sample};
    if (compressor) summary.compression = {options.compression_level, bytes_in, bytes_out, kCaptureBlockSize};
    std::vector<std::byte> tail;
    append_features(head.host(), head.descriptions(), summary, data_end, header, tail);
    auto whole_head = head.final(header, data_end, tail);
    append_facts(head.facts(cuts), data_end, tail);
    ready.insert(ready.end(), tail.begin(), tail.end());
    head_changed = false;
    if (auto flushed = flush(); !flushed) return flushed;
    if (auto written = file->write_at(0, std::move(whole_head)); !written) return written;
    return file->commit();
}

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureWriter::~CaptureWriter() = default;

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(const std::string& path, const EventTable& events,
                                                             const HostFacts& host, const ProcessTable& processes,
                                                             CaptureOptions options) {
    auto file = create_capture_file(path);
    if (!file) return fail(std::move(file.error()));
    return create(std::move(*file), events, host, processes, std::move(options));
}

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(std::unique_ptr<CaptureFile> file,
                                                             const EventTable& events, const HostFacts& host,
                                                             const ProcessTable& processes, CaptureOptions options) {
    auto state = std::make_unique<State>(std::move(file), events, host, processes, std::move(options));
    if (auto started = state->start(); !started) return fail(std::move(started.error()).at(state->file->path()));
    return std::unique_ptr<CaptureWriter>(new CaptureWriter(std::move(state)));
}

void CaptureWriter::write(const OrderedRecord& record) { state_->write(record); }
void CaptureWriter::cut(const Cut& cut) { state_->cut(cut); }
Result<void> CaptureWriter::flush() { return state_->flush(); }
Result<void> CaptureWriter::finish() { return state_->finish(); }
std::uint64_t CaptureWriter::bytes_written() const {
    return state_->handed_over + state_->ready.size() + state_->block.size();
}
std::uint64_t CaptureWriter::samples() const { return state_->samples; }
const std::string& CaptureWriter::path() const { return state_->file->path(); }

}  // namespace perfvigil::collector
