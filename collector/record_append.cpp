// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record_append.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kMaxText = 4096;  // PATH_MAX, more than any kernel record holds

// One record front to back; the header's size is known when it ends.
class Appender {
public:
    Appender(std::uint32_t type, std::uint16_t misc, std::vector<std::byte>& out)
        : start_(out.size()), out_(out), to_(out) {
        to_.u32(type);
        to_.u16(misc);
        to_.u16(0);
    }

    ByteWriter& to() { return to_; }
    void task(Pid pid, Tid tid) {
        to_.i32(pid.value);
        to_.i32(tid.value);
    }
    void text(std::string_view text) { to_.padded_text(text.substr(0, kMaxText - 1), 8, start_); }

    void finish(const SampleId& id, const RecordLayout& layout) {
        if (layout.sample_id_all) trailer(id, layout.sample_type);
        to_.patch(start_ + 6, static_cast<std::uint16_t>(out_.size() - start_));
    }

private:
    void trailer(const SampleId& id, std::uint64_t type) {
        if ((type & kSampleTid) != 0) task(id.pid, id.tid);
        if ((type & kSampleTime) != 0) to_.u64(to_ns(id.time));
        if ((type & kSampleId) != 0) to_.u64(id.id.value);
        if ((type & kSampleStreamId) != 0) to_.u64(id.stream_id);
        if ((type & kSampleCpu) != 0) {
            to_.u32(id.cpu.value);
            to_.u32(0);
        }
        if ((type & kSampleIdentifier) != 0) to_.u64(id.id.value);
    }

    std::size_t start_;
    std::vector<std::byte>& out_;
    ByteWriter to_;
};

std::uint16_t with_bit(std::uint16_t misc, std::uint16_t bit, bool set) {
    return static_cast<std::uint16_t>(set ? misc | bit : misc & ~bit);
}

}  // namespace

void append_record(const MmapRecord& mmap, const RecordLayout& layout, std::vector<std::byte>& out) {
    const Bytes build_id = mmap.build_id.bytes();
    std::uint16_t misc = with_bit(mmap.misc, kMiscMmapData, !mmap.executable());
    misc = with_bit(misc, kMiscMmapBuildId, !build_id.empty());
    Appender record(kRecordMmap2, misc, out);
    record.task(mmap.pid, mmap.tid);
    record.to().u64(mmap.start);
    record.to().u64(mmap.length);
    record.to().u64(mmap.page_offset);
    if (build_id.empty()) {
        record.to().u32(mmap.major);
        record.to().u32(mmap.minor);
        record.to().u64(mmap.inode);
        record.to().u64(mmap.inode_generation);
    } else {
        record.to().u8(static_cast<std::uint8_t>(build_id.size()));
        record.to().zeros(3);
        record.to().bytes(build_id);
        record.to().zeros(BuildId::kMaxSize - build_id.size());
    }
    record.to().u32(mmap.protection);
    record.to().u32(mmap.map_flags);
    record.text(mmap.path);
    record.finish(mmap.sample, layout);
}

void append_record(const CommRecord& comm, const RecordLayout& layout, std::vector<std::byte>& out) {
    Appender record(kRecordComm, comm.by_exec ? kMiscCommExec : std::uint16_t{0}, out);
    record.task(comm.pid, comm.tid);
    record.text(comm.comm);
    record.finish(comm.sample, layout);
}

void append_record(const CgroupRecord& cgroup, const RecordLayout& layout, std::vector<std::byte>& out) {
    Appender record(kRecordCgroup, 0, out);
    record.to().u64(cgroup.id.value);
    record.text(cgroup.path);
    record.finish(cgroup.sample, layout);
}

void append_record(const LostSamplesRecord& lost, const RecordLayout& layout, std::vector<std::byte>& out,
                   std::uint16_t extra_misc) {
    constexpr std::uint16_t kMiscLostByFilter = 1U << 15;
    Appender record(kRecordLostSamples, with_bit(extra_misc, kMiscLostByFilter, lost.by_filter), out);
    record.to().u64(lost.lost);
    record.finish(lost.sample, layout);
}

}  // namespace perfvigil::collector
