// SPDX-License-Identifier: GPL-2.0-or-later
// How one event was asked of the kernel, in host order and independent of the size or byte order in which it was
// stored. Source: perf_event_open(2), include/uapi/linux/perf_event.h. Only event_attr.cpp and open.cpp see the
// kernel's own struct.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::collector {

// Bits of attr.sample_type.
enum SampleBit : std::uint64_t {
    kSampleIp = 1U << 0,
    kSampleTid = 1U << 1,
    kSampleTime = 1U << 2,
    kSampleAddr = 1U << 3,
    kSampleRead = 1U << 4,
    kSampleCallchain = 1U << 5,
    kSampleId = 1U << 6,
    kSampleCpu = 1U << 7,
    kSamplePeriod = 1U << 8,
    kSampleStreamId = 1U << 9,
    kSampleRaw = 1U << 10,
    kSampleBranchStack = 1U << 11,
    kSampleRegsUser = 1U << 12,
    kSampleStackUser = 1U << 13,
    kSampleWeight = 1U << 14,
    kSampleDataSrc = 1U << 15,
    kSampleIdentifier = 1U << 16,
    kSampleTransaction = 1U << 17,
    kSampleRegsIntr = 1U << 18,
    kSamplePhysAddr = 1U << 19,
    kSampleAux = 1U << 20,
    kSampleCgroup = 1U << 21,
    kSampleDataPageSize = 1U << 22,
    kSampleCodePageSize = 1U << 23,
    kSampleWeightStruct = 1U << 24,
};

// Bits of attr.read_format.
enum ReadFormatBit : std::uint64_t {
    kReadTotalTimeEnabled = 1U << 0,
    kReadTotalTimeRunning = 1U << 1,
    kReadId = 1U << 2,
    kReadGroup = 1U << 3,
    kReadLost = 1U << 4,
};

// Bit positions of the flag word that follows read_format, as the kernel numbers them.
enum AttrFlag : unsigned {
    kFlagDisabled = 0,
    kFlagInherit = 1,
    kFlagPinned = 2,
    kFlagExclusive = 3,
    kFlagExcludeUser = 4,
    kFlagExcludeKernel = 5,
    kFlagExcludeHv = 6,
    kFlagExcludeIdle = 7,
    kFlagMmap = 8,
    kFlagComm = 9,
    kFlagFreq = 10,
    kFlagInheritStat = 11,
    kFlagEnableOnExec = 12,
    kFlagTask = 13,
    kFlagWatermark = 14,
    kFlagPreciseIp = 15,  // two bits
    kFlagMmapData = 17,
    kFlagSampleIdAll = 18,
    kFlagExcludeHost = 19,
    kFlagExcludeGuest = 20,
    kFlagExcludeCallchainKernel = 21,
    kFlagExcludeCallchainUser = 22,
    kFlagMmap2 = 23,
    kFlagCommExec = 24,
    kFlagUseClockid = 25,
    kFlagContextSwitch = 26,
    kFlagWriteBackward = 27,
    kFlagNamespaces = 28,
    kFlagKsymbol = 29,
    kFlagBpfEvent = 30,
    kFlagAuxOutput = 31,
    kFlagCgroup = 32,
    kFlagTextPoke = 33,
    kFlagBuildId = 34,
};

inline constexpr std::uint32_t kTypeHardware = 0;
inline constexpr std::uint32_t kTypeSoftware = 1;
inline constexpr std::uint32_t kTypeTracepoint = 2;
inline constexpr std::uint64_t kHwCpuCycles = 0;
inline constexpr std::uint64_t kSwCpuClock = 0;
inline constexpr std::uint64_t kSwTaskClock = 1;
inline constexpr std::uint64_t kSwDummy = 9;

struct EventAttr {
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    std::uint64_t sample_period_or_freq = 0;  // hertz when freq(), else event counts (ns for the clocks)
    std::uint64_t sample_type = 0;
    std::uint64_t read_format = 0;
    std::uint64_t flags = 0;
    std::uint32_t wakeup = 0;  // events, or bytes with kFlagWatermark
    std::uint32_t bp_type = 0;
    std::uint64_t config1 = 0;
    std::uint64_t config2 = 0;
    std::uint64_t branch_sample_type = 0;
    std::uint64_t sample_regs_user = 0;
    std::uint32_t sample_stack_user = 0;
    std::int32_t clockid = 0;
    std::uint64_t sample_regs_intr = 0;
    std::uint32_t aux_watermark = 0;
    std::uint16_t sample_max_stack = 0;
    std::uint32_t aux_sample_size = 0;

    [[nodiscard]] bool flag(AttrFlag f) const { return ((flags >> f) & 1U) != 0; }
    void set(AttrFlag f) { flags |= std::uint64_t{1} << f; }
    void clear(AttrFlag f) { flags &= ~(std::uint64_t{1} << f); }
    [[nodiscard]] bool freq() const { return flag(kFlagFreq); }
    [[nodiscard]] unsigned precise_ip() const { return (flags >> kFlagPreciseIp) & 3U; }
    void set_precise_ip(unsigned level) {
        flags = (flags & ~(std::uint64_t{3} << kFlagPreciseIp)) | (std::uint64_t{level & 3U} << kFlagPreciseIp);
    }
    [[nodiscard]] bool has(SampleBit bit) const { return (sample_type & bit) != 0; }
    [[nodiscard]] bool is_cpu_clock() const { return type == kTypeSoftware && config == kSwCpuClock; }
    [[nodiscard]] bool is_clock() const { return type == kTypeSoftware && config <= kSwTaskClock; }

    friend bool operator==(const EventAttr&, const EventAttr&) = default;
};

// Size in which our own captures store an attr: the largest that perf 6.1 accepts.
inline constexpr std::uint32_t kStoredAttrSize = 128;

// Reads an attr stored in `bytes` (its own size field, or all of `bytes` where that is smaller). Unknown tails are
// ignored. Swapped captures get their flag word's bits mirrored per byte as well (FACTS: bitfields).
[[nodiscard]] Result<EventAttr> decode_attr(Bytes bytes, Endian endian);
// The attr in kStoredAttrSize bytes, native order.
void encode_attr(const EventAttr& attr, std::vector<std::byte>& out);

}  // namespace perfvigil::collector
