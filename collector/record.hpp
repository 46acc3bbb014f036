// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel wrote into a ring, as views into its bytes. decode_record() is a pure function of (bytes, layout),
// the layout being made from the very attr that opened the event. Views live as long as the bytes do.
// Source: perf_event_open(2) "MMAP layout", include/uapi/linux/perf_event.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/build_id.hpp"
#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/event_attr.hpp"

namespace perfvigil::collector {

enum RecordType : std::uint32_t {
    kRecordMmap = 1,
    kRecordLost = 2,
    kRecordComm = 3,
    kRecordExit = 4,
    kRecordThrottle = 5,
    kRecordUnthrottle = 6,
    kRecordFork = 7,
    kRecordRead = 8,
    kRecordSample = 9,
    kRecordMmap2 = 10,
    kRecordAux = 11,
    kRecordItraceStart = 12,
    kRecordLostSamples = 13,
    kRecordSwitch = 14,
    kRecordSwitchCpuWide = 15,
    kRecordNamespaces = 16,
    kRecordKsymbol = 17,
    kRecordBpfEvent = 18,
    kRecordCgroup = 19,
    kRecordTextPoke = 20,
    kRecordAuxOutputHwId = 21,
    // Written by perf's user space into files, never by the kernel.
    kRecordHeaderAttr = 64,
    kRecordEventType = 65,
    kRecordTracingData = 66,
    kRecordBuildId = 67,
    kRecordFinishedRound = 68,
    kRecordIdIndex = 69,
    kRecordAuxtraceInfo = 70,
    kRecordAuxtrace = 71,
    kRecordThreadMap = 73,
    kRecordCpuMap = 74,
    kRecordEventUpdate = 78,
    kRecordTimeConv = 79,
    kRecordHeaderFeature = 80,
    kRecordCompressed = 81,
    kRecordFinishedInit = 82,
    kRecordCompressed2 = 83,
};

// Bits of header.misc.
inline constexpr std::uint16_t kMiscCpumodeMask = 7;
inline constexpr std::uint16_t kMiscKernel = 1;
inline constexpr std::uint16_t kMiscUser = 2;
inline constexpr std::uint16_t kMiscHypervisor = 3;
inline constexpr std::uint16_t kMiscGuestKernel = 4;
inline constexpr std::uint16_t kMiscGuestUser = 5;
inline constexpr std::uint16_t kMiscMmapData = 1U << 13;     // on MMAP*: not executable
inline constexpr std::uint16_t kMiscCommExec = 1U << 13;     // on COMM: by exec
inline constexpr std::uint16_t kMiscForkExec = 1U << 13;     // on FORK: maps are not copied
inline constexpr std::uint16_t kMiscMmapBuildId = 1U << 14;  // on MMAP2: build-id instead of maj/min/ino

// Context markers inside call chains: values >= kContextMax as unsigned.
inline constexpr std::uint64_t kContextHypervisor = static_cast<std::uint64_t>(-32);
inline constexpr std::uint64_t kContextKernel = static_cast<std::uint64_t>(-128);
inline constexpr std::uint64_t kContextUser = static_cast<std::uint64_t>(-512);
inline constexpr std::uint64_t kContextGuest = static_cast<std::uint64_t>(-2048);
inline constexpr std::uint64_t kContextGuestKernel = static_cast<std::uint64_t>(-2176);
inline constexpr std::uint64_t kContextGuestUser = static_cast<std::uint64_t>(-2560);
inline constexpr std::uint64_t kContextMax = static_cast<std::uint64_t>(-4095);

inline constexpr std::size_t kRecordHeaderSize = 8;

struct RecordHeader {
    std::uint32_t type = 0;
    std::uint16_t misc = 0;
    std::uint16_t size = 0;  // of the whole record, header included

    [[nodiscard]] std::uint16_t cpumode() const { return misc & kMiscCpumodeMask; }
};

// The first 8 bytes of `bytes`; nullopt where fewer are there. size is not judged here.
[[nodiscard]] std::optional<RecordHeader> peek_header(Bytes bytes, Endian endian = Endian::kNative);

// Which fields a record of one event carries, derived once from its attr.
struct RecordLayout {
    std::uint64_t sample_type = 0;
    std::uint64_t read_format = 0;
    std::uint64_t branch_sample_type = 0;
    std::uint64_t regs_user = 0;  // which registers, when the ABI is not 0: bits by enum perf_event_*_regs
    std::uint64_t regs_intr = 0;
    bool sample_id_all = false;
    Endian endian = Endian::kNative;

    [[nodiscard]] static RecordLayout of(const EventAttr& attr, Endian endian = Endian::kNative);
    friend bool operator==(const RecordLayout&, const RecordLayout&) = default;
};

// Fields common to samples and, through the sample_id trailer, to every other record. Absent ones stay at their
// defaults; `present` holds the sample_type bits that were read.
struct SampleId {
    std::uint64_t present = 0;
    Pid pid{-1};
    Tid tid{-1};
    MonotonicTime time{};
    EventId id{};
    std::uint64_t stream_id = 0;
    CpuId cpu{};

    [[nodiscard]] bool has(SampleBit bit) const { return (present & bit) != 0; }
};

// Addresses innermost first, context markers included, unaligned and possibly swapped.
class ChainView {
public:
    ChainView() = default;
    ChainView(Bytes bytes, Endian endian) : bytes_(bytes), endian_(endian) {}
    [[nodiscard]] std::size_t size() const { return bytes_.size() / sizeof(std::uint64_t); }
    [[nodiscard]] std::uint64_t operator[](std::size_t i) const {
        std::uint64_t value{};
        std::memcpy(&value, bytes_.data() + i * sizeof value, sizeof value);
        return endian_ == Endian::kNative ? value : byte_swap(value);
    }
    [[nodiscard]] Bytes bytes() const { return bytes_; }

private:
    Bytes bytes_;
    Endian endian_ = Endian::kNative;
};

// One member of a read() or of a PERF_SAMPLE_READ group. Cumulative since the event was opened.
struct CounterValue {
    std::uint64_t value = 0;
    EventId id{};
    std::uint64_t lost = 0;
};

struct ReadView {
    std::uint64_t time_enabled = 0;  // ns
    std::uint64_t time_running = 0;  // ns
    bool group = false;
    Bytes members{};  // group: value [id] [lost] per member; else the whole value [enabled] [running] [id] [lost]
    std::uint64_t read_format = 0;
    Endian endian = Endian::kNative;

    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] CounterValue operator[](std::size_t i) const;
    // Bytes of one member of a group: value [id] [lost].
    [[nodiscard]] static std::size_t member_size(std::uint64_t read_format);
};

// The user registers at the sample, as many as attr.sample_regs_user names. Numbers are perf's own, per architecture.
struct RegistersView {
    std::uint64_t abi = 0;  // PERF_SAMPLE_REGS_ABI_*: 0: none (kernel threads), 1: of a 32-bit task, 2: of a 64-bit one
    std::uint64_t mask = 0;
    Bytes values{};  // u64 per bit of the mask, lowest first
    Endian endian = Endian::kNative;

    [[nodiscard]] std::optional<std::uint64_t> operator[](unsigned number) const;
};

// A copy of the user stack from its pointer upwards.
struct UserStackView {
    Bytes dump{};            // as much as was asked for
    std::uint64_t used = 0;  // bytes of it that were read; the rest is rubbish

    [[nodiscard]] Bytes bytes() const { return dump.first(std::min<std::uint64_t>(used, dump.size())); }
};

struct SampleRecord {
    SampleId sample{};
    std::uint16_t misc = 0;
    std::uint64_t ip = 0;
    std::uint64_t addr = 0;
    std::uint64_t period = 0;  // 0 where sample_type lacks PERIOD: the caller weighs by the attr
    ReadView read{};
    ChainView chain{};
    Bytes raw{};
    std::uint64_t branches = 0;
    RegistersView user_registers{};
    UserStackView user_stack{};
    CgroupId cgroup{};

    [[nodiscard]] std::uint16_t cpumode() const { return misc & kMiscCpumodeMask; }
};

// MMAP and MMAP2.
struct MmapRecord {
    SampleId sample{};
    std::uint16_t misc = 0;
    Pid pid{};
    Tid tid{};
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    std::uint64_t page_offset = 0;
    bool has_inode = false;  // MMAP2 without build-id
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_generation = 0;
    BuildId build_id{};            // MMAP2 with kMiscMmapBuildId
    std::uint32_t protection = 0;  // PROT_*; for MMAP: PROT_EXEC unless kMiscMmapData
    std::uint32_t map_flags = 0;   // MAP_*
    std::string_view path{};

    [[nodiscard]] bool executable() const { return (protection & 4U) != 0; }
};

struct CommRecord {
    SampleId sample{};
    Pid pid{};
    Tid tid{};
    bool by_exec = false;
    std::string_view comm{};
};

// FORK and EXIT.
struct TaskRecord {
    SampleId sample{};
    bool exit = false;
    bool fork_exec = false;  // kMiscForkExec
    Pid pid{};
    Pid parent_pid{};
    Tid tid{};
    Tid parent_tid{};
    MonotonicTime time{};
};

struct LostRecord {  // number of records of any kind lost in this ring before this one
    SampleId sample{};
    EventId id{};  // the event whose record came next, not the one that lost
    std::uint64_t lost = 0;
};
struct LostSamplesRecord {
    SampleId sample{};
    std::uint64_t lost = 0;
    bool by_filter = false;  // misc bit 15: dropped by a BPF filter, not lost
};
struct ThrottleRecord {  // THROTTLE and UNTHROTTLE
    SampleId sample{};
    bool throttled = false;
    MonotonicTime time{};
    EventId id{};
};
struct ReadRecord {
    SampleId sample{};
    Pid pid{};
    Tid tid{};
    ReadView read{};
};
struct KsymbolRecord {
    SampleId sample{};
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint16_t type = 0;  // 1 BPF, 2 out of line (trampolines)
    bool unregister = false;
    std::string_view name{};
};
struct BpfRecord {
    SampleId sample{};
    std::uint16_t type = 0;  // 1 load, 2 unload
    std::uint32_t id = 0;
};
struct CgroupRecord {
    SampleId sample{};
    CgroupId id{};
    std::string_view path{};
};
struct TextPokeRecord {
    SampleId sample{};
    std::uint64_t address = 0;
    Bytes old_bytes{};
    Bytes new_bytes{};
};
struct NamespacesRecord {
    SampleId sample{};
    Pid pid{};
    Tid tid{};
    std::uint64_t mount_ns_inode = 0;  // 0 where absent
};
// Known by number but carrying nothing we use (AUX, SWITCH, user-space records …), or not known at all.
struct OtherRecord {
    SampleId sample{};
    std::uint32_t type = 0;
    std::uint16_t misc = 0;
    Bytes payload{};  // after the header
};

using Record =
    std::variant<SampleRecord, MmapRecord, CommRecord, TaskRecord, LostRecord, LostSamplesRecord, ThrottleRecord,
                 ReadRecord, KsymbolRecord, BpfRecord, CgroupRecord, TextPokeRecord, NamespacesRecord, OtherRecord>;

// Decodes one whole record (header.size bytes). nullopt: the record's content does not fit its size; never reads
// outside `record`. Bytes after the fields known here are allowed.
[[nodiscard]] std::optional<Record> decode_record(Bytes record, const RecordLayout& layout);

// The time and event id of a record without decoding the rest; what is absent stays empty.
struct RecordKey {
    std::optional<MonotonicTime> time;
    std::optional<EventId> id;
};
[[nodiscard]] RecordKey peek_key(Bytes record, const RecordLayout& layout);

[[nodiscard]] const SampleId& sample_id_of(const Record& record);
[[nodiscard]] std::string_view record_type_name(std::uint32_t type);  // "MMAP2"; "record 4711" forms are the caller's

}  // namespace perfvigil::collector
