// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record.hpp"

#include <bit>

namespace perfvigil::collector {
namespace {

// The fields that every record can carry, in the order of the sample_id trailer.
constexpr std::uint64_t kTrailerBits =
    kSampleTid | kSampleTime | kSampleId | kSampleStreamId | kSampleCpu | kSampleIdentifier;
// What follows the call chain in a sample; most recordings have none of it.
constexpr std::uint64_t kBitsAfterChain = kSampleRaw | kSampleBranchStack | kSampleRegsUser | kSampleStackUser |
                                          kSampleWeight | kSampleDataSrc | kSampleTransaction | kSampleRegsIntr |
                                          kSamplePhysAddr | kSampleAux | kSampleCgroup | kSampleDataPageSize |
                                          kSampleCodePageSize | kSampleWeightStruct;
constexpr std::uint64_t kBranchHwIndex = 1U << 17;   // branch_sample_type: one word before the entries
constexpr std::uint64_t kBranchCounters = 1U << 19;  // branch_sample_type: one word per entry after them (6.8)
constexpr std::size_t kBranchEntrySize = 24;
constexpr std::uint16_t kMiscLostByFilter = 1U << 15;
constexpr std::uint16_t kKsymbolUnregister = 1;
constexpr std::uint64_t kMountNamespaceIndex = 5;  // MNT_NS_INDEX
constexpr std::uint32_t kProtExec = 4;
constexpr std::uint32_t kFirstUserSpaceRecord = 64;

std::size_t words(std::uint64_t bits) { return static_cast<std::size_t>(std::popcount(bits)); }

// `count` items of `size` bytes each; a count that cannot fit is a failure, not an overflow.
Bytes take_items(ByteReader& in, std::uint64_t count, std::size_t size) {
    if (count > in.remaining() / size) {
        in.mark_failed();
        return {};
    }
    return in.take(count * size);
}

MonotonicTime read_time(ByteReader& in) { return monotonic_from_ns(in.u64()); }

ReadView read_counters(ByteReader& in, const RecordLayout& layout) {
    constexpr std::uint64_t kTimes = kReadTotalTimeEnabled | kReadTotalTimeRunning;
    ReadView view;
    view.read_format = layout.read_format;
    view.endian = layout.endian;
    view.group = (layout.read_format & kReadGroup) != 0;
    if (view.group) {
        const std::uint64_t count = in.u64();
        if ((layout.read_format & kReadTotalTimeEnabled) != 0) view.time_enabled = in.u64();
        if ((layout.read_format & kReadTotalTimeRunning) != 0) view.time_running = in.u64();
        view.members = take_items(in, count, ReadView::member_size(layout.read_format));
        return view;
    }
    view.members = in.take(ReadView::member_size(layout.read_format) + 8 * words(layout.read_format & kTimes));
    ByteReader times(view.members, layout.endian);
    times.skip(8);
    if ((layout.read_format & kReadTotalTimeEnabled) != 0) view.time_enabled = times.u64();
    if ((layout.read_format & kReadTotalTimeRunning) != 0) view.time_running = times.u64();
    return view;
}

void skip_branches(ByteReader& in, const RecordLayout& layout, std::uint64_t& branches) {
    branches = in.u64();
    if ((layout.branch_sample_type & kBranchHwIndex) != 0) in.skip(8);
    (void)take_items(in, branches, kBranchEntrySize);
    if ((layout.branch_sample_type & kBranchCounters) != 0) (void)take_items(in, branches, 8);
}

RegistersView read_registers(ByteReader& in, std::uint64_t mask) {
    RegistersView out{.abi = in.u64(), .mask = mask, .endian = in.endian()};
    if (out.abi != 0) out.values = in.take(8 * words(mask));
    return out;
}

UserStackView read_user_stack(ByteReader& in) {
    UserStackView out{.dump = in.take(in.u64())};
    if (!out.dump.empty()) out.used = in.u64();
    return out;
}

void read_after_chain(ByteReader& in, const RecordLayout& layout, SampleRecord& out) {
    const std::uint64_t type = layout.sample_type;
    if ((type & kSampleRaw) != 0) out.raw = in.take(in.u32());
    if ((type & kSampleBranchStack) != 0) skip_branches(in, layout, out.branches);
    if ((type & kSampleRegsUser) != 0) out.user_registers = read_registers(in, layout.regs_user);
    if ((type & kSampleStackUser) != 0) out.user_stack = read_user_stack(in);
    if ((type & (kSampleWeight | kSampleWeightStruct)) != 0) in.skip(8);
    in.skip(8 * words(type & (kSampleDataSrc | kSampleTransaction)));
    if ((type & kSampleRegsIntr) != 0) (void)read_registers(in, layout.regs_intr);
    if ((type & kSamplePhysAddr) != 0) in.skip(8);
    if ((type & kSampleCgroup) != 0) out.cgroup = CgroupId{in.u64()};
    in.skip(8 * words(type & (kSampleDataPageSize | kSampleCodePageSize)));
    if ((type & kSampleAux) != 0) in.skip(in.u64());
}

// In the order of perf_output_sample(), kernel/events/core.c.
void read_sample(ByteReader& in, const RecordLayout& layout, SampleRecord& out) {
    const std::uint64_t type = layout.sample_type;
    out.sample.present = type;
    if ((type & kSampleIdentifier) != 0) out.sample.id = EventId{in.u64()};
    if ((type & kSampleIp) != 0) out.ip = in.u64();
    if ((type & kSampleTid) != 0) {
        out.sample.pid = Pid{in.i32()};
        out.sample.tid = Tid{in.i32()};
    }
    if ((type & kSampleTime) != 0) out.sample.time = read_time(in);
    if ((type & kSampleAddr) != 0) out.addr = in.u64();
    if ((type & kSampleId) != 0) out.sample.id = EventId{in.u64()};
    if ((type & kSampleStreamId) != 0) out.sample.stream_id = in.u64();
    if ((type & kSampleCpu) != 0) {
        out.sample.cpu = CpuId{in.u32()};
        in.skip(4);
    }
    if ((type & kSamplePeriod) != 0) out.period = in.u64();
    if ((type & kSampleRead) != 0) out.read = read_counters(in, layout);
    if ((type & kSampleCallchain) != 0) {
        const std::uint64_t count = in.u64();
        out.chain = ChainView(take_items(in, count, 8), layout.endian);
    }
    if ((type & kBitsAfterChain) != 0) read_after_chain(in, layout, out);
}

SampleId read_trailer(Bytes trailer, const RecordLayout& layout) {
    if (trailer.empty()) return {};
    ByteReader in(trailer, layout.endian);
    const std::uint64_t type = layout.sample_type;
    SampleId id;
    id.present = type & kTrailerBits;
    if ((type & kSampleTid) != 0) {
        id.pid = Pid{in.i32()};
        id.tid = Tid{in.i32()};
    }
    if ((type & kSampleTime) != 0) id.time = read_time(in);
    if ((type & kSampleId) != 0) id.id = EventId{in.u64()};
    if ((type & kSampleStreamId) != 0) id.stream_id = in.u64();
    if ((type & kSampleCpu) != 0) {
        id.cpu = CpuId{in.u32()};
        in.skip(4);
    }
    if ((type & kSampleIdentifier) != 0) id.id = EventId{in.u64()};
    return id;
}

// Records of perf's user space have no trailer, whatever the attr says.
std::size_t trailer_size(const RecordHeader& header, const RecordLayout& layout) {
    if (!layout.sample_id_all || header.type >= kFirstUserSpaceRecord) return 0;
    return 8 * words(layout.sample_type & kTrailerBits);
}

// A record whose trailer has been read and cut off.
struct Body {
    ByteReader in;
    const RecordHeader& header;
    const SampleId& sample;

    std::string_view text_to_end() { return in.text_field(in.remaining()); }
};

void read_inode_or_build_id(Body& body, MmapRecord& out) {
    if ((body.header.misc & kMiscMmapBuildId) == 0) {
        out.has_inode = true;
        out.major = body.in.u32();
        out.minor = body.in.u32();
        out.inode = body.in.u64();
        out.inode_generation = body.in.u64();
        return;
    }
    const std::size_t size = body.in.u8();
    body.in.skip(3);
    const Bytes id = body.in.take(BuildId::kMaxSize);
    // A size that no build-id has: the file counts as one without.
    if (size <= id.size()) out.build_id = BuildId(id.first(size));
}

Record read_mmap(Body& body) {
    MmapRecord out{.sample = body.sample, .misc = body.header.misc};
    out.pid = Pid{body.in.i32()};
    out.tid = Tid{body.in.i32()};
    out.start = body.in.u64();
    out.length = body.in.u64();
    out.page_offset = body.in.u64();
    if (body.header.type == kRecordMmap2) {
        read_inode_or_build_id(body, out);
        out.protection = body.in.u32();
        out.map_flags = body.in.u32();
    } else if ((body.header.misc & kMiscMmapData) == 0) {
        out.protection = kProtExec;
    }
    out.path = body.text_to_end();
    return out;
}

Record read_comm(Body& body) {
    CommRecord out{.sample = body.sample, .by_exec = (body.header.misc & kMiscCommExec) != 0};
    out.pid = Pid{body.in.i32()};
    out.tid = Tid{body.in.i32()};
    out.comm = body.text_to_end();
    return out;
}

Record read_task(Body& body) {
    TaskRecord out{.sample = body.sample, .exit = body.header.type == kRecordExit};
    out.fork_exec = !out.exit && (body.header.misc & kMiscForkExec) != 0;
    out.pid = Pid{body.in.i32()};
    out.parent_pid = Pid{body.in.i32()};
    out.tid = Tid{body.in.i32()};
    out.parent_tid = Tid{body.in.i32()};
    out.time = read_time(body.in);
    return out;
}

Record read_lost(Body& body) {
    LostRecord out{.sample = body.sample};
    out.id = EventId{body.in.u64()};
    out.lost = body.in.u64();
    return out;
}

Record read_lost_samples(Body& body) {
    LostSamplesRecord out{.sample = body.sample};
    out.lost = body.in.u64();
    out.by_filter = (body.header.misc & kMiscLostByFilter) != 0;
    return out;
}

Record read_throttle(Body& body) {
    ThrottleRecord out{.sample = body.sample, .throttled = body.header.type == kRecordThrottle};
    out.time = read_time(body.in);
    out.id = EventId{body.in.u64()};
    body.in.skip(8);  // stream id
    return out;
}

Record read_read(Body& body, const RecordLayout& layout) {
    ReadRecord out{.sample = body.sample};
    out.pid = Pid{body.in.i32()};
    out.tid = Tid{body.in.i32()};
    out.read = read_counters(body.in, layout);
    return out;
}

Record read_ksymbol(Body& body) {
    KsymbolRecord out{.sample = body.sample};
    out.address = body.in.u64();
    out.length = body.in.u32();
    out.type = body.in.u16();
    out.unregister = (body.in.u16() & kKsymbolUnregister) != 0;
    out.name = body.text_to_end();
    return out;
}

Record read_bpf(Body& body) {
    BpfRecord out{.sample = body.sample};
    out.type = body.in.u16();
    body.in.skip(2);  // flags
    out.id = body.in.u32();
    body.in.skip(8);  // tag
    return out;
}

Record read_cgroup(Body& body) {
    CgroupRecord out{.sample = body.sample};
    out.id = CgroupId{body.in.u64()};
    out.path = body.text_to_end();
    return out;
}

Record read_text_poke(Body& body) {
    TextPokeRecord out{.sample = body.sample};
    out.address = body.in.u64();
    const std::uint16_t old_size = body.in.u16();
    const std::uint16_t new_size = body.in.u16();
    out.old_bytes = body.in.take(old_size);
    out.new_bytes = body.in.take(new_size);
    return out;
}

Record read_namespaces(Body& body) {
    NamespacesRecord out{.sample = body.sample};
    out.pid = Pid{body.in.i32()};
    out.tid = Tid{body.in.i32()};
    const std::uint64_t count = body.in.u64();
    ByteReader links(take_items(body.in, count, 16), body.in.endian());  // device, inode
    if (count > kMountNamespaceIndex) {
        links.skip(kMountNamespaceIndex * 16 + 8);
        out.mount_ns_inode = links.u64();
    }
    return out;
}

Record read_body(Body& body, const RecordLayout& layout) {
    switch (body.header.type) {
        case kRecordMmap:
        case kRecordMmap2: return read_mmap(body);
        case kRecordComm: return read_comm(body);
        case kRecordFork:
        case kRecordExit: return read_task(body);
        case kRecordLost: return read_lost(body);
        case kRecordLostSamples: return read_lost_samples(body);
        case kRecordThrottle:
        case kRecordUnthrottle: return read_throttle(body);
        case kRecordRead: return read_read(body, layout);
        case kRecordKsymbol: return read_ksymbol(body);
        case kRecordBpfEvent: return read_bpf(body);
        case kRecordCgroup: return read_cgroup(body);
        case kRecordTextPoke: return read_text_poke(body);
        case kRecordNamespaces: return read_namespaces(body);
        default: return OtherRecord{body.sample, body.header.type, body.header.misc, body.in.rest()};
    }
}

// The record without its header, or nullopt where the header's size does not fit what is there.
std::optional<Bytes> payload_of(Bytes record, const RecordHeader& header) {
    if (header.size < kRecordHeaderSize || header.size > record.size()) return std::nullopt;
    return record.subspan(kRecordHeaderSize, header.size - kRecordHeaderSize);
}

// One name for the result throughout, so that it is built in place.
std::optional<Record> decode_sample(const RecordHeader& header, Bytes payload, const RecordLayout& layout) {
    std::optional<Record> out(std::in_place, std::in_place_type<SampleRecord>);
    auto& sample = std::get<SampleRecord>(*out);
    sample.misc = header.misc;
    ByteReader in(payload, layout.endian);
    read_sample(in, layout, sample);
    if (!in.ok()) out.reset();
    return out;
}

std::optional<Record> decode_other(const RecordHeader& header, Bytes payload, const RecordLayout& layout) {
    const std::size_t trailer = trailer_size(header, layout);
    if (trailer > payload.size()) return std::nullopt;
    const SampleId sample = read_trailer(payload.last(trailer), layout);
    Body body{ByteReader(payload.first(payload.size() - trailer), layout.endian), header, sample};
    std::optional<Record> out = read_body(body, layout);
    if (!body.in.ok()) out.reset();
    return out;
}

// The word at `index` from the front of a sample's payload.
std::optional<std::uint64_t> word_at(Bytes payload, std::size_t index, Endian endian) {
    ByteReader in(payload, endian);
    in.skip(8 * index);
    const std::uint64_t value = in.u64();
    if (!in.ok()) return std::nullopt;
    return value;
}

RecordKey peek_sample(Bytes payload, const RecordLayout& layout) {
    constexpr std::uint64_t kBeforeTime = kSampleIdentifier | kSampleIp | kSampleTid;
    const std::uint64_t type = layout.sample_type;
    RecordKey key;
    if ((type & kSampleTime) != 0) {
        if (const auto ns = word_at(payload, words(type & kBeforeTime), layout.endian))
            key.time = monotonic_from_ns(*ns);
    }
    if ((type & (kSampleIdentifier | kSampleId)) != 0) {
        constexpr std::uint64_t kBeforeId = kSampleIp | kSampleTid | kSampleTime | kSampleAddr;
        const std::size_t index = (type & kSampleIdentifier) != 0 ? 0 : words(type & kBeforeId);
        if (const auto id = word_at(payload, index, layout.endian)) key.id = EventId{*id};
    }
    return key;
}

}  // namespace

std::optional<RecordHeader> peek_header(Bytes bytes, Endian endian) {
    ByteReader in(bytes, endian);
    RecordHeader header;
    header.type = in.u32();
    header.misc = in.u16();
    header.size = in.u16();
    if (!in.ok()) return std::nullopt;
    return header;
}

std::optional<Record> decode_record(Bytes record, const RecordLayout& layout) {
    const auto header = peek_header(record, layout.endian);
    if (!header) return std::nullopt;
    const auto payload = payload_of(record, *header);
    if (!payload) return std::nullopt;
    return header->type == kRecordSample ? decode_sample(*header, *payload, layout)
                                         : decode_other(*header, *payload, layout);
}

RecordKey peek_key(Bytes record, const RecordLayout& layout) {
    const auto header = peek_header(record, layout.endian);
    if (!header) return {};
    const auto payload = payload_of(record, *header);
    if (!payload) return {};
    if (header->type == kRecordSample) return peek_sample(*payload, layout);

    const std::size_t trailer = trailer_size(*header, layout);
    if (trailer > payload->size()) return {};
    const SampleId id = read_trailer(payload->last(trailer), layout);
    RecordKey key;
    if (id.has(kSampleTime)) key.time = id.time;
    if ((id.present & (kSampleId | kSampleIdentifier)) != 0) key.id = id.id;
    return key;
}

}  // namespace perfvigil::collector
