// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record_encoder.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kCommLength = 15;     // TASK_COMM_LEN − 1
constexpr std::size_t kSymbolLength = 511;  // KSYM_NAME_LEN − 1
constexpr std::size_t kPathLength = 4095;   // PATH_MAX − 1

void task(ByteWriter& to, Pid pid, Tid tid) {
    to.i32(pid.value);
    to.i32(tid.value);
}

}  // namespace

Bytes RecordEncoder::comm(const RecordOrigin& origin, Pid pid, Tid tid, std::string_view comm) {
    begin(kRecordComm, 0);
    ByteWriter to(out_);
    task(to, pid, tid);
    to.padded_text(comm.substr(0, kCommLength), 8, 0);
    return end(origin, pid, tid);
}

Bytes RecordEncoder::fork(const RecordOrigin& origin, Pid pid, Pid parent) {
    begin(kRecordFork, kMiscForkExec);
    ByteWriter to(out_);
    to.i32(pid.value);
    to.i32(parent.value);
    to.i32(pid.value);
    to.i32(parent.value);
    to.u64(to_ns(origin.time));
    return end(origin, pid, Tid{pid.value});
}

Bytes RecordEncoder::finished_init() {
    begin(kRecordFinishedInit, 0);
    ByteWriter(out_).patch(6, static_cast<std::uint16_t>(out_.size()));
    return out_;
}

Bytes RecordEncoder::mmap2(const RecordOrigin& origin, Pid pid, const ProcMapping& mapping) {
    constexpr std::uint32_t kProtExec = 4;
    const bool code = (mapping.protection & kProtExec) != 0;
    begin(kRecordMmap2, code ? kMiscUser : static_cast<std::uint16_t>(kMiscUser | kMiscMmapData));
    ByteWriter to(out_);
    const Tid tid{pid.value};
    task(to, pid, tid);
    to.u64(mapping.start);
    to.u64(mapping.end - mapping.start);
    to.u64(mapping.page_offset);
    to.u32(mapping.major);
    to.u32(mapping.minor);
    to.u64(mapping.inode);
    to.u64(0);  // the inode's generation, which /proc does not tell
    to.u32(mapping.protection);
    to.u32(mapping.map_flags);
    to.padded_text(mapping.path.substr(0, kPathLength), 8, 0);
    return end(origin, pid, tid);
}

Bytes RecordEncoder::ksymbol(const RecordOrigin& origin, const KernelCode& code) {
    begin(kRecordKsymbol, 0);
    ByteWriter to(out_);
    to.u64(code.address);
    to.u32(code.length);
    to.u16(code.type);
    to.u16(0);  // flags: registered
    to.padded_text(std::string_view(code.name).substr(0, kSymbolLength), 8, 0);
    return end(origin, Pid{-1}, Tid{0});
}

Bytes RecordEncoder::cgroup(const RecordOrigin& origin, CgroupId id, std::string_view path) {
    begin(kRecordCgroup, 0);
    ByteWriter to(out_);
    to.u64(id.value);
    to.padded_text(path.substr(0, kPathLength), 8, 0);
    return end(origin, Pid{0}, Tid{0});
}

Bytes RecordEncoder::read(const RecordOrigin& origin, Pid pid, Tid tid, const Counter& counter) {
    begin(kRecordRead, 0);
    ByteWriter to(out_);
    task(to, pid, tid);
    const std::uint64_t format = origin.layout.read_format;
    to.u64(counter.value);
    if ((format & kReadTotalTimeEnabled) != 0) to.u64(counter.enabled);
    if ((format & kReadTotalTimeRunning) != 0) to.u64(counter.running);
    if ((format & kReadId) != 0) to.u64(counter.id.value);
    if ((format & kReadLost) != 0) to.u64(counter.lost);
    return end(origin, pid, tid);
}

void RecordEncoder::begin(RecordType type, std::uint16_t misc) {
    out_.clear();
    ByteWriter to(out_);
    to.u32(type);
    to.u16(misc);
    to.u16(0);  // the size, known at the end
}

Bytes RecordEncoder::end(const RecordOrigin& origin, Pid pid, Tid tid) {
    ByteWriter to(out_);
    if (origin.layout.sample_id_all) {
        const std::uint64_t type = origin.layout.sample_type;
        if ((type & kSampleTid) != 0) task(to, pid, tid);
        if ((type & kSampleTime) != 0) to.u64(to_ns(origin.time));
        if ((type & kSampleId) != 0) to.u64(origin.id.value);
        if ((type & kSampleStreamId) != 0) to.u64(origin.id.value);
        if ((type & kSampleCpu) != 0) {
            to.u32(origin.cpu.value);
            to.u32(0);
        }
        if ((type & kSampleIdentifier) != 0) to.u64(origin.id.value);
    }
    to.patch(6, static_cast<std::uint16_t>(out_.size()));
    return out_;
}

}  // namespace perfvigil::collector
