// SPDX-License-Identifier: GPL-2.0-or-later
// Records as a kernel with the given layout would have written them, from typed values: the mirror of decode_record.
// Every function returns one whole record, header included, a multiple of 8 bytes long, in the layout's byte order,
// with the sample_id trailer where the layout has one. Values whose sample_type bit is absent are not written.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "collector/event_attr.hpp"
#include "collector/record.hpp"

namespace perfvigil::test {

using RecordBytes = std::vector<std::byte>;

struct ReadFields {
    std::uint64_t time_enabled = 0;
    std::uint64_t time_running = 0;
    std::vector<collector::CounterValue> members;  // without kReadGroup: exactly one
};

struct SampleFields {
    collector::SampleId id;  // `present` is ignored: the layout decides
    std::uint16_t misc = collector::kMiscUser;
    std::uint64_t ip = 0;
    std::uint64_t addr = 0;
    std::uint64_t period = 0;
    ReadFields read{{}, {}, {{}}};
    std::vector<std::uint64_t> chain;  // innermost first, context markers included
    std::vector<std::byte> raw;        // zeros are added up to 8n + 4 bytes, as the kernel does
    std::uint64_t branches = 0;
    bool user_regs = true;                               // false: ABI 0, no registers
    std::map<unsigned, std::uint64_t> user_registers{};  // by perf's number; others of the mask hold something too
    bool interrupt_regs = true;
    std::vector<std::byte> user_stack{};  // what was in use of the dump, from the stack pointer up
    std::uint64_t user_stack_size = 0;    // of the whole dump, a multiple of 8; all in use where user_stack is empty
    std::uint64_t aux_size = 0;           // a multiple of 8
    CgroupId cgroup{};
};

struct ReadRecordFields {
    collector::SampleId id;
    Pid pid{};
    Tid tid{};
    ReadFields read{{}, {}, {{}}};
};

struct NamespaceLink {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
};

[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const SampleFields& sample);
// MMAP2; with the build-id where `mmap` has one, else with device and inode. The misc bits for data mappings and for
// build-ids follow from the values.
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::MmapRecord& mmap);
// The same as an old MMAP record: protection, inode and build-id are dropped.
[[nodiscard]] RecordBytes mmap1_bytes(const collector::RecordLayout& layout, const collector::MmapRecord& mmap);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::CommRecord& comm);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::TaskRecord& task);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::LostRecord& lost);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::LostSamplesRecord& lost);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout,
                                       const collector::ThrottleRecord& throttle);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const ReadRecordFields& read);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::KsymbolRecord& ksymbol);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::BpfRecord& bpf);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::CgroupRecord& cgroup);
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::TextPokeRecord& poke);
// Links in the kernel's order: net, uts, ipc, pid, user, mnt, cgroup.
[[nodiscard]] RecordBytes namespaces_bytes(const collector::RecordLayout& layout, const collector::SampleId& id,
                                           Pid pid, Tid tid, const std::vector<NamespaceLink>& links);
// Any type with its payload as given.
[[nodiscard]] RecordBytes record_bytes(const collector::RecordLayout& layout, const collector::OtherRecord& other);

// Attrs like those of our own sessions: identifier first, CLOCK_MONOTONIC, call chains, cgroup, 99 Hz.
[[nodiscard]] collector::EventAttr cpu_clock_attr(std::uint64_t hertz = 99);
[[nodiscard]] collector::EventAttr cycles_attr(std::uint64_t hertz = 99);
// The dummy event that carries mmap2 (with build-ids), comm, task, ksymbol, bpf and cgroup records.
[[nodiscard]] collector::EventAttr side_band_attr();

}  // namespace perfvigil::test
