// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/record_bytes.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string_view>

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;

constexpr std::uint64_t kBranchHwIndex = 1U << 17;
constexpr std::uint64_t kBranchCounters = 1U << 19;

// Writes one record front to back; the header's size is filled in by finish().
class Writer {
public:
    Writer(const RecordLayout& layout, std::uint32_t type, std::uint16_t misc) : layout_(layout) {
        u32(type);
        u16(misc);
        u16(0);
    }

    void u8(std::uint8_t value) { number(value); }
    void u16(std::uint16_t value) { number(value); }
    void u32(std::uint32_t value) { number(value); }
    void u64(std::uint64_t value) { number(value); }
    void task(Pid pid, Tid tid) {
        u32(static_cast<std::uint32_t>(pid.value));
        u32(static_cast<std::uint32_t>(tid.value));
    }
    void raw(Bytes bytes) { ByteWriter(out_).bytes(bytes); }
    void zeros(std::size_t count) { ByteWriter(out_).zeros(count); }
    // NUL-terminated, the record padded to 8 bytes.
    void text(std::string_view text) { ByteWriter(out_).padded_text(text, 8, 0); }
    void pad() { zeros((8 - out_.size() % 8) % 8); }

    void trailer(const SampleId& id) {
        if (!layout_.sample_id_all) return;
        if (has(kSampleTid)) task(id.pid, id.tid);
        if (has(kSampleTime)) u64(to_ns(id.time));
        if (has(kSampleId)) u64(id.id.value);
        if (has(kSampleStreamId)) u64(id.stream_id);
        if (has(kSampleCpu)) {
            u32(id.cpu.value);
            u32(0);
        }
        if (has(kSampleIdentifier)) u64(id.id.value);
    }

    void read(const ReadFields& read) {
        const std::uint64_t format = layout_.read_format;
        const bool group = (format & kReadGroup) != 0;
        if (!group && read.members.size() != 1) give_up("a read without kReadGroup has exactly one member");
        if (group) u64(read.members.size());
        if (!group) u64(read.members.front().value);
        if ((format & kReadTotalTimeEnabled) != 0) u64(read.time_enabled);
        if ((format & kReadTotalTimeRunning) != 0) u64(read.time_running);
        for (const CounterValue& member : read.members) {
            if (group) u64(member.value);
            if ((format & kReadId) != 0) u64(member.id.value);
            if ((format & kReadLost) != 0) u64(member.lost);
        }
    }

    [[nodiscard]] RecordBytes finish() {
        if (out_.size() > UINT16_MAX) give_up("a record of more than 65535 bytes");
        const auto size = static_cast<std::uint16_t>(out_.size());
        ByteWriter(out_).patch(6, layout_.endian == Endian::kNative ? size : byte_swap(size));
        return std::move(out_);
    }

    [[nodiscard]] bool has(SampleBit bit) const { return (layout_.sample_type & bit) != 0; }
    [[nodiscard]] const RecordLayout& layout() const { return layout_; }

private:
    template <class T>
    void number(T value) {
        ByteWriter(out_).number(layout_.endian == Endian::kNative ? value : byte_swap(value));
    }
    [[noreturn]] static void give_up(const char* why) {
        std::cerr << "record_bytes: " << why << '\n';
        std::abort();
    }

    const RecordLayout& layout_;
    RecordBytes out_;
};

// Each register that is not given holds 0x1000 and its position among those that are there.
void write_registers(Writer& to, bool present, std::uint64_t mask,
                     const std::map<unsigned, std::uint64_t>& values = {}) {
    to.u64(present ? 2 : 0);  // PERF_SAMPLE_REGS_ABI_64
    if (!present) return;
    std::uint64_t position = 0;
    for (unsigned number = 0; number < 64; ++number) {
        if (((mask >> number) & 1U) == 0) continue;
        const auto given = values.find(number);
        to.u64(given != values.end() ? given->second : 0x1000 + position);
        ++position;
    }
}

void write_branches(Writer& to, std::uint64_t count) {
    to.u64(count);
    if ((to.layout().branch_sample_type & kBranchHwIndex) != 0) to.u64(7);
    to.zeros(count * 24);
    if ((to.layout().branch_sample_type & kBranchCounters) != 0) to.zeros(count * 8);
}

void write_user_stack(Writer& to, const SampleFields& s) {
    const std::uint64_t size = std::max<std::uint64_t>(s.user_stack_size, s.user_stack.size());
    to.u64(size);
    if (size == 0) return;
    to.raw(s.user_stack);
    to.zeros(size - s.user_stack.size());
    to.u64(s.user_stack.empty() ? size : s.user_stack.size());
}

void write_sample(Writer& to, const SampleFields& s) {
    if (to.has(kSampleIdentifier)) to.u64(s.id.id.value);
    if (to.has(kSampleIp)) to.u64(s.ip);
    if (to.has(kSampleTid)) to.task(s.id.pid, s.id.tid);
    if (to.has(kSampleTime)) to.u64(to_ns(s.id.time));
    if (to.has(kSampleAddr)) to.u64(s.addr);
    if (to.has(kSampleId)) to.u64(s.id.id.value);
    if (to.has(kSampleStreamId)) to.u64(s.id.stream_id);
    if (to.has(kSampleCpu)) {
        to.u32(s.id.cpu.value);
        to.u32(0);
    }
    if (to.has(kSamplePeriod)) to.u64(s.period);
    if (to.has(kSampleRead)) to.read(s.read);
    if (to.has(kSampleCallchain)) {
        to.u64(s.chain.size());
        for (const std::uint64_t address : s.chain) to.u64(address);
    }
    if (to.has(kSampleRaw)) {
        const std::size_t size = (4 + s.raw.size() + 7) / 8 * 8 - 4;
        to.u32(static_cast<std::uint32_t>(size));
        to.raw(s.raw);
        to.zeros(size - s.raw.size());
    }
    if (to.has(kSampleBranchStack)) write_branches(to, s.branches);
    if (to.has(kSampleRegsUser)) write_registers(to, s.user_regs, to.layout().regs_user, s.user_registers);
    if (to.has(kSampleStackUser)) write_user_stack(to, s);
    if (to.has(kSampleWeight) || to.has(kSampleWeightStruct)) to.u64(11);
    if (to.has(kSampleDataSrc)) to.u64(12);
    if (to.has(kSampleTransaction)) to.u64(13);
    if (to.has(kSampleRegsIntr)) write_registers(to, s.interrupt_regs, to.layout().regs_intr);
    if (to.has(kSamplePhysAddr)) to.u64(14);
    if (to.has(kSampleCgroup)) to.u64(s.cgroup.value);
    if (to.has(kSampleDataPageSize)) to.u64(4096);
    if (to.has(kSampleCodePageSize)) to.u64(4096);
    if (to.has(kSampleAux)) {
        to.u64(s.aux_size);
        to.zeros(s.aux_size);
    }
}

void write_mmap_head(Writer& to, const MmapRecord& mmap) {
    to.task(mmap.pid, mmap.tid);
    to.u64(mmap.start);
    to.u64(mmap.length);
    to.u64(mmap.page_offset);
}

std::uint16_t with_bit(std::uint16_t misc, std::uint16_t bit, bool set) {
    return static_cast<std::uint16_t>(set ? misc | bit : misc & ~bit);
}

EventAttr session_attr(std::uint32_t type, std::uint64_t config) {
    EventAttr attr;
    attr.type = type;
    attr.config = config;
    attr.sample_type = kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime | kSampleCpu | kSamplePeriod;
    attr.read_format = kReadTotalTimeEnabled | kReadTotalTimeRunning | kReadId | kReadLost;
    for (const AttrFlag flag : {kFlagDisabled, kFlagSampleIdAll, kFlagExcludeGuest, kFlagUseClockid}) attr.set(flag);
    attr.clockid = CLOCK_MONOTONIC;
    return attr;
}

EventAttr sampling_attr(std::uint32_t type, std::uint64_t config, std::uint64_t hertz) {
    EventAttr attr = session_attr(type, config);
    attr.sample_type |= kSampleCallchain | kSampleCgroup;
    attr.sample_period_or_freq = hertz;
    attr.set(kFlagFreq);
    return attr;
}

}  // namespace

RecordBytes record_bytes(const RecordLayout& layout, const SampleFields& sample) {
    Writer to(layout, kRecordSample, sample.misc);
    write_sample(to, sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const MmapRecord& mmap) {
    const bool by_build_id = !mmap.build_id.empty();
    std::uint16_t misc = with_bit(mmap.misc, kMiscMmapData, !mmap.executable());
    misc = with_bit(misc, kMiscMmapBuildId, by_build_id);
    Writer to(layout, kRecordMmap2, misc);
    write_mmap_head(to, mmap);
    if (by_build_id) {
        const Bytes id = mmap.build_id.bytes();
        to.u8(static_cast<std::uint8_t>(id.size()));
        to.zeros(3);
        to.raw(id);
        to.zeros(BuildId::kMaxSize - id.size());
    } else {
        to.u32(mmap.major);
        to.u32(mmap.minor);
        to.u64(mmap.inode);
        to.u64(mmap.inode_generation);
    }
    to.u32(mmap.protection);
    to.u32(mmap.map_flags);
    to.text(mmap.path);
    to.trailer(mmap.sample);
    return to.finish();
}

RecordBytes mmap1_bytes(const RecordLayout& layout, const MmapRecord& mmap) {
    Writer to(layout, kRecordMmap, with_bit(mmap.misc, kMiscMmapData, !mmap.executable()));
    write_mmap_head(to, mmap);
    to.text(mmap.path);
    to.trailer(mmap.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const CommRecord& comm) {
    Writer to(layout, kRecordComm, comm.by_exec ? kMiscCommExec : std::uint16_t{0});
    to.task(comm.pid, comm.tid);
    to.text(comm.comm);
    to.trailer(comm.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const TaskRecord& task) {
    Writer to(layout, task.exit ? kRecordExit : kRecordFork, task.fork_exec ? kMiscForkExec : std::uint16_t{0});
    to.u32(static_cast<std::uint32_t>(task.pid.value));
    to.u32(static_cast<std::uint32_t>(task.parent_pid.value));
    to.u32(static_cast<std::uint32_t>(task.tid.value));
    to.u32(static_cast<std::uint32_t>(task.parent_tid.value));
    to.u64(to_ns(task.time));
    to.trailer(task.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const LostRecord& lost) {
    Writer to(layout, kRecordLost, 0);
    to.u64(lost.id.value);
    to.u64(lost.lost);
    to.trailer(lost.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const LostSamplesRecord& lost) {
    Writer to(layout, kRecordLostSamples, lost.by_filter ? std::uint16_t{1U << 15} : std::uint16_t{0});
    to.u64(lost.lost);
    to.trailer(lost.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const ThrottleRecord& throttle) {
    Writer to(layout, throttle.throttled ? kRecordThrottle : kRecordUnthrottle, 0);
    to.u64(to_ns(throttle.time));
    to.u64(throttle.id.value);
    to.u64(throttle.sample.stream_id);
    to.trailer(throttle.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const ReadRecordFields& read) {
    Writer to(layout, kRecordRead, 0);
    to.task(read.pid, read.tid);
    to.read(read.read);
    to.trailer(read.id);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const KsymbolRecord& ksymbol) {
    Writer to(layout, kRecordKsymbol, 0);
    to.u64(ksymbol.address);
    to.u32(ksymbol.length);
    to.u16(ksymbol.type);
    to.u16(ksymbol.unregister ? 1 : 0);
    to.text(ksymbol.name);
    to.trailer(ksymbol.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const BpfRecord& bpf) {
    Writer to(layout, kRecordBpfEvent, 0);
    to.u16(bpf.type);
    to.u16(0);
    to.u32(bpf.id);
    to.zeros(8);  // tag
    to.trailer(bpf.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const CgroupRecord& cgroup) {
    Writer to(layout, kRecordCgroup, 0);
    to.u64(cgroup.id.value);
    to.text(cgroup.path);
    to.trailer(cgroup.sample);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const TextPokeRecord& poke) {
    Writer to(layout, kRecordTextPoke, 0);
    to.u64(poke.address);
    to.u16(static_cast<std::uint16_t>(poke.old_bytes.size()));
    to.u16(static_cast<std::uint16_t>(poke.new_bytes.size()));
    to.raw(poke.old_bytes);
    to.raw(poke.new_bytes);
    to.pad();
    to.trailer(poke.sample);
    return to.finish();
}

RecordBytes namespaces_bytes(const RecordLayout& layout, const SampleId& id, Pid pid, Tid tid,
                             const std::vector<NamespaceLink>& links) {
    Writer to(layout, kRecordNamespaces, 0);
    to.task(pid, tid);
    to.u64(links.size());
    for (const NamespaceLink& link : links) {
        to.u64(link.device);
        to.u64(link.inode);
    }
    to.trailer(id);
    return to.finish();
}

RecordBytes record_bytes(const RecordLayout& layout, const OtherRecord& other) {
    Writer to(layout, other.type, other.misc);
    to.raw(other.payload);
    to.pad();
    if (other.type < kRecordHeaderAttr) to.trailer(other.sample);
    return to.finish();
}

EventAttr cpu_clock_attr(std::uint64_t hertz) { return sampling_attr(kTypeSoftware, kSwCpuClock, hertz); }

EventAttr cycles_attr(std::uint64_t hertz) { return sampling_attr(kTypeHardware, kHwCpuCycles, hertz); }

EventAttr side_band_attr() {
    EventAttr attr = session_attr(kTypeSoftware, kSwDummy);
    for (const AttrFlag flag : {kFlagMmap, kFlagMmap2, kFlagComm, kFlagCommExec, kFlagTask, kFlagKsymbol, kFlagBpfEvent,
                                kFlagCgroup, kFlagBuildId}) {
        attr.set(flag);
    }
    return attr;
}

}  // namespace perfvigil::test
