// SPDX-License-Identifier: GPL-2.0-or-later
// Foreign record bytes under a foreign layout: decoded, ordered by time, applied to a small process table and looked
// up. Input: a layout (kLayoutSize bytes), then records one after the other.
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "base/bytes.hpp"
#include "collector/processes.hpp"
#include "collector/record.hpp"
#include "collector/time_order.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::collector;

constexpr std::size_t kLayoutSize = 32;
std::uint64_t g_sink = 0;  // what was read must not be optimised away

void check(bool holds) {
    if (!holds) std::abort();
}

void touch(Bytes bytes) {
    for (const std::byte b : bytes) g_sink += std::to_integer<std::uint64_t>(b);
}
void touch(std::string_view text) { touch(std::as_bytes(std::span(text))); }
void touch(const ReadView& read) {
    for (std::size_t i = 0; i < read.size(); ++i) g_sink += read[i].value + read[i].id.value + read[i].lost;
}

// Every view of every kind, so that a sanitizer sees one that leaves the record.
struct TouchAll {
    void operator()(const SampleRecord& r) const {
        for (std::size_t i = 0; i < r.chain.size(); ++i) g_sink += r.chain[i];
        touch(r.raw);
        touch(r.read);
    }
    void operator()(const MmapRecord& r) const {
        touch(r.path);
        touch(r.build_id.bytes());
    }
    void operator()(const CommRecord& r) const { touch(r.comm); }
    void operator()(const ReadRecord& r) const { touch(r.read); }
    void operator()(const KsymbolRecord& r) const { touch(r.name); }
    void operator()(const CgroupRecord& r) const { touch(r.path); }
    void operator()(const TextPokeRecord& r) const {
        touch(r.old_bytes);
        touch(r.new_bytes);
    }
    void operator()(const OtherRecord& r) const { touch(r.payload); }
    template <class T>
    void operator()(const T&) const {
        static_assert(std::is_trivially_copyable_v<T>);
    }
};

RecordLayout read_layout(ByteReader& in) {
    RecordLayout layout;
    layout.sample_type = in.u64();
    layout.read_format = in.u64();
    layout.branch_sample_type = in.u64();
    layout.regs_user = in.u16();
    layout.regs_intr = in.u16();
    const std::uint32_t flags = in.u32();
    layout.sample_id_all = (flags & 1U) != 0;
    layout.endian = (flags & 2U) != 0 ? Endian::kSwapped : Endian::kNative;
    return layout;
}

void apply(ProcessTable& table, Bytes bytes, const RecordLayout& layout) {
    const auto record = decode_record(bytes, layout);
    const RecordKey key = peek_key(bytes, layout);
    if (!record) return;
    const SampleId& id = sample_id_of(*record);
    if (key.time) check(*key.time == id.time);
    std::visit(TouchAll{}, *record);
    table.apply(*record);
    if (const auto* const sample = std::get_if<SampleRecord>(&*record)) {
        const Process& process = table.process(id.pid);
        for (std::size_t i = 0; i < sample->chain.size(); ++i) {
            const Mapping* const mapping = process.maps.find(sample->chain[i]);
            if (mapping != nullptr) g_sink += mapping->offset_of(sample->chain[i]);
        }
    }
    g_sink += table.comm(id.pid, id.tid).size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < kLayoutSize) return 0;
    const Bytes input = std::as_bytes(std::span(data, size));
    ByteReader head(input.first(kLayoutSize));
    const RecordLayout layout = read_layout(head);

    TimeOrder order;
    std::uint64_t pushed = 0;
    for (Bytes rest = input.subspan(kLayoutSize);;) {
        const auto header = peek_header(rest, layout.endian);
        if (!header || header->size < kRecordHeaderSize || header->size > rest.size()) break;
        const Bytes record = rest.first(header->size);
        order.push_copy(peek_key(record, layout).time.value_or(MonotonicTime{}), record, 0);
        ++pushed;
        rest = rest.subspan(header->size);
    }

    ProcessTable table(
        {.max_processes = 16, .max_threads = 16, .max_mappings_per_process = 16, .max_cgroups = 8, .max_dsos = 16});
    MonotonicTime last = MonotonicTime::min();
    std::uint64_t delivered = 0;
    order.flush_all([&](const TimeOrder::Item& item) {
        check(item.time >= last);
        last = item.time;
        ++delivered;
        apply(table, item.bytes(), layout);
    });
    check(delivered == pushed);
    check(table.process_count() <= 16 && table.thread_count() <= 16);
    table.forget_exited_before(last);
    return 0;
}
