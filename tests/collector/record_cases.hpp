// SPDX-License-Identifier: GPL-2.0-or-later
// Values and layouts that the tests of records share: one full sample, one record of every kind.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

#include "collector/record.hpp"
#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector::record_cases {

using test::record_bytes;
using test::RecordBytes;
using test::SampleFields;

inline constexpr std::uint64_t kAllSampleBits = (std::uint64_t{1} << 25U) - 1;

inline SampleId full_id() {
    return {.present = 0,
            .pid = Pid{4711},
            .tid = Tid{4712},
            .time = monotonic_from_ns(1'797'837'778'788),
            .id = EventId{0x1122334455667788},
            .stream_id = 0x99aabbccddeeff00,
            .cpu = CpuId{3}};
}

inline SampleFields full_sample() {
    SampleFields s;
    s.id = full_id();
    s.misc = kMiscKernel;
    s.ip = 0xffffffff816853a0;
    s.addr = 0x7fead0ae5000;
    s.period = 10101010;
    s.read = {1000, 900, {{5, EventId{77}, 2}}};
    s.chain = {kContextKernel, 0xffffffff816853a0, 0xffffffff81000130, kContextUser, 0x561779834b30};
    s.raw = std::vector<std::byte>(12, std::byte{0x5a});
    s.branches = 3;
    s.user_stack_size = 64;
    s.aux_size = 24;
    s.cgroup = CgroupId{0x2f1};
    return s;
}

inline constexpr std::uint64_t kBranchHwIndex = 1U << 17;
inline constexpr std::uint64_t kBranchCounters = 1U << 19;

// Everything that a layout can say beside sample_type is there.
inline RecordLayout layout_of(std::uint64_t sample_type, Endian endian, bool sample_id_all = true) {
    return {.sample_type = sample_type,
            .read_format = kReadTotalTimeEnabled | kReadTotalTimeRunning | kReadId | kReadLost,
            .branch_sample_type = kBranchHwIndex | kBranchCounters,
            .regs_user = 0x3a5f,
            .regs_intr = 0x8421,
            .sample_id_all = sample_id_all,
            .endian = endian};
}

template <class T>
const T& as(const std::optional<Record>& record) {
    static const T kNone{};
    if (!record || !std::holds_alternative<T>(*record)) {
        ADD_FAILURE() << "not decoded as the expected kind";
        return kNone;
    }
    return std::get<T>(*record);
}

inline void patch_size(RecordBytes& bytes, std::size_t size, Endian endian) {
    const auto value = static_cast<std::uint16_t>(size);
    ByteWriter(bytes).patch(6, endian == Endian::kNative ? value : byte_swap(value));
}

inline constexpr std::array<std::byte, 3> kOldText{std::byte{1}, std::byte{2}, std::byte{3}};
inline constexpr std::array<std::byte, 5> kNewText{std::byte{4}, std::byte{5}, std::byte{6}, std::byte{7},
                                                   std::byte{8}};
inline constexpr std::array<std::byte, 16> kPayload{std::byte{0x77}};

inline MmapRecord mmap_with_inode() {
    return {.sample = full_id(),
            .misc = kMiscUser,
            .pid = Pid{12},
            .tid = Tid{13},
            .start = 0x7fead0b6b000,
            .length = 0x26000,
            .page_offset = 0x1000,
            .has_inode = true,
            .major = 8,
            .minor = 1,
            .inode = 0x1234567890,
            .inode_generation = 42,
            .build_id = {},
            .protection = 5,
            .map_flags = 2,
            .path = "/usr/lib/x86_64-linux-gnu/libc.so.6"};
}

inline MmapRecord mmap_with_build_id() {
    MmapRecord mmap = mmap_with_inode();
    mmap.has_inode = false;
    mmap.major = mmap.minor = 0;
    mmap.inode = mmap.inode_generation = 0;
    mmap.build_id = *BuildId::from_hex("be6397ddffc3e384c505d7deab3bed190c884df9");
    return mmap;
}

inline TaskRecord task(bool exit) {
    return {full_id(), exit, false, Pid{20}, Pid{10}, Tid{21}, Tid{11}, monotonic_from_ns(77)};
}

inline test::ReadRecordFields read_record() { return {full_id(), Pid{1}, Tid{2}, {1000, 900, {{5, EventId{77}, 2}}}}; }

struct Kind {
    const char* name;
    std::size_t fixed;  // bytes between header and trailer without which the record means nothing
    RecordBytes (*make)(const RecordLayout&);
};
// The READ record's layout has all of read_format but GROUP.
inline const std::vector<Kind> kKinds{
    {"MMAP", 32, [](const RecordLayout& l) { return test::mmap1_bytes(l, mmap_with_inode()); }},
    {"MMAP2", 64, [](const RecordLayout& l) { return record_bytes(l, mmap_with_inode()); }},
    {"MMAP2 build-id", 64, [](const RecordLayout& l) { return record_bytes(l, mmap_with_build_id()); }},
    {"COMM", 8,
     [](const RecordLayout& l) { return record_bytes(l, CommRecord{full_id(), Pid{5}, Tid{6}, true, "sh"}); }},
    {"FORK", 24, [](const RecordLayout& l) { return record_bytes(l, task(false)); }},
    {"EXIT", 24, [](const RecordLayout& l) { return record_bytes(l, task(true)); }},
    {"LOST", 16, [](const RecordLayout& l) { return record_bytes(l, LostRecord{full_id(), EventId{9}, 33}); }},
    {"LOST_SAMPLES", 8, [](const RecordLayout& l) { return record_bytes(l, LostSamplesRecord{full_id(), 34, true}); }},
    {"THROTTLE", 24,
     [](const RecordLayout& l) {
         return record_bytes(l, ThrottleRecord{full_id(), true, monotonic_from_ns(5), EventId{6}});
     }},
    {"READ", 48, [](const RecordLayout& l) { return record_bytes(l, read_record()); }},
    {"KSYMBOL", 16,
     [](const RecordLayout& l) {
         return record_bytes(l, KsymbolRecord{full_id(), 0xffffffffc0001000, 96, 1, true, "bpf_prog_1"});
     }},
    {"BPF_EVENT", 16, [](const RecordLayout& l) { return record_bytes(l, BpfRecord{full_id(), 2, 41}); }},
    {"CGROUP", 8,
     [](const RecordLayout& l) { return record_bytes(l, CgroupRecord{full_id(), CgroupId{3}, "/system.slice"}); }},
    {"TEXT_POKE", 20,
     [](const RecordLayout& l) { return record_bytes(l, TextPokeRecord{full_id(), 0x1000, kOldText, kNewText}); }},
    {"NAMESPACES", 128,
     [](const RecordLayout& l) {
         return test::namespaces_bytes(l, full_id(), Pid{1}, Tid{2},
                                       {{4, 100}, {4, 101}, {4, 102}, {4, 103}, {4, 104}, {4, 105}, {4, 106}});
     }},
    {"SWITCH", 0,
     [](const RecordLayout& l) { return record_bytes(l, OtherRecord{full_id(), kRecordSwitch, 1U << 13, {}}); }},
    {"unknown", 0, [](const RecordLayout& l) { return record_bytes(l, OtherRecord{full_id(), 55, 7, kPayload}); }},
    {"SAMPLE", 0, [](const RecordLayout& l) { return record_bytes(l, full_sample()); }},
};

}  // namespace perfvigil::collector::record_cases
