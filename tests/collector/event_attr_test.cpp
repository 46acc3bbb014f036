// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/event_attr.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace perfvigil::collector {
namespace {

EventAttr full_attr() {
    EventAttr attr;
    attr.type = 0x01020304;
    attr.config = 0x1112131415161718;
    attr.sample_period_or_freq = 0x2122232425262728;
    attr.sample_type = 0x3132333435363738;
    attr.read_format = 0x4142434445464748;
    attr.flags = 0x0000000500808c21;
    attr.wakeup = 0x51525354;
    attr.bp_type = 0x61626364;
    attr.config1 = 0x7172737475767778;
    attr.config2 = 0x8182838485868788;
    attr.branch_sample_type = 0x9192939495969798;
    attr.sample_regs_user = 0xa1a2a3a4a5a6a7a8;
    attr.sample_stack_user = 0xb1b2b3b4;
    attr.clockid = -7;
    attr.sample_regs_intr = 0xc1c2c3c4c5c6c7c8;
    attr.aux_watermark = 0xd1d2d3d4;
    attr.sample_max_stack = 0xe1e2;
    attr.aux_sample_size = 0xf1f2f3f4;
    return attr;
}

std::vector<std::byte> encoded(const EventAttr& attr) {
    std::vector<std::byte> out;
    encode_attr(attr, out);
    return out;
}

// The attr as a machine of the other byte order stores it: every number turned, the flag word's bits mirrored.
std::vector<std::byte> encoded_swapped(const EventAttr& attr) {
    const auto native = encoded(attr);
    std::vector<std::byte> out(native.size());
    const std::vector<std::pair<std::size_t, std::size_t>> fields{
        {0, 4},  {4, 4},  {8, 8},  {16, 8}, {24, 8}, {32, 8}, {48, 4},  {52, 4},  {56, 8},
        {64, 8}, {72, 8}, {80, 8}, {88, 4}, {92, 4}, {96, 8}, {104, 4}, {108, 2}, {112, 4}};
    for (const auto& [at, size] : fields) {
        for (std::size_t i = 0; i < size; ++i) out[at + i] = native[at + size - 1 - i];
    }
    for (std::size_t i = 0; i < 8; ++i) {
        unsigned mirrored = 0;
        for (unsigned bit = 0; bit < 8; ++bit) {
            mirrored |= ((std::to_integer<unsigned>(native[40 + i]) >> bit) & 1U) << (7 - bit);
        }
        out[40 + i] = static_cast<std::byte>(mirrored);
    }
    return out;
}

TEST(EventAttr, IsStoredInTheSizeThatPerfAccepts) {
    std::vector<std::byte> out(3);
    encode_attr(full_attr(), out);
    EXPECT_EQ(out.size(), 3U + kStoredAttrSize);
    EXPECT_EQ(*decode_attr(Bytes(out).subspan(3), Endian::kNative), full_attr());
}

// The kernel's own header is the oracle for every offset and flag.
TEST(EventAttr, AgreesWithTheKernelsStruct) {
    const auto bytes = encoded(full_attr());
    perf_event_attr kernel{};
    ASSERT_LE(sizeof kernel, bytes.size() + 8);
    std::memcpy(&kernel, bytes.data(), std::min(sizeof kernel, bytes.size()));
    const EventAttr want = full_attr();
    EXPECT_EQ(kernel.type, want.type);
    EXPECT_EQ(kernel.size, kStoredAttrSize);
    EXPECT_EQ(kernel.config, want.config);
    EXPECT_EQ(kernel.sample_freq, want.sample_period_or_freq);
    EXPECT_EQ(kernel.sample_type, want.sample_type);
    EXPECT_EQ(kernel.read_format, want.read_format);
    EXPECT_EQ(kernel.wakeup_events, want.wakeup);
    EXPECT_EQ(kernel.bp_type, want.bp_type);
    EXPECT_EQ(kernel.config1, want.config1);
    EXPECT_EQ(kernel.config2, want.config2);
    EXPECT_EQ(kernel.branch_sample_type, want.branch_sample_type);
    EXPECT_EQ(kernel.sample_regs_user, want.sample_regs_user);
    EXPECT_EQ(kernel.sample_stack_user, want.sample_stack_user);
    EXPECT_EQ(kernel.clockid, want.clockid);
    EXPECT_EQ(kernel.sample_regs_intr, want.sample_regs_intr);
    EXPECT_EQ(kernel.aux_watermark, want.aux_watermark);
    EXPECT_EQ(kernel.sample_max_stack, want.sample_max_stack);
    EXPECT_EQ(kernel.aux_sample_size, want.aux_sample_size);
}

TEST(EventAttr, FlagsLieWhereTheKernelHasThem) {
    struct Case {
        AttrFlag flag;
        void (*set)(perf_event_attr&);
    };
    const std::vector<Case> cases{
        {kFlagDisabled, [](perf_event_attr& a) { a.disabled = 1; }},
        {kFlagInherit, [](perf_event_attr& a) { a.inherit = 1; }},
        {kFlagPinned, [](perf_event_attr& a) { a.pinned = 1; }},
        {kFlagExclusive, [](perf_event_attr& a) { a.exclusive = 1; }},
        {kFlagExcludeUser, [](perf_event_attr& a) { a.exclude_user = 1; }},
        {kFlagExcludeKernel, [](perf_event_attr& a) { a.exclude_kernel = 1; }},
        {kFlagExcludeHv, [](perf_event_attr& a) { a.exclude_hv = 1; }},
        {kFlagExcludeIdle, [](perf_event_attr& a) { a.exclude_idle = 1; }},
        {kFlagMmap, [](perf_event_attr& a) { a.mmap = 1; }},
        {kFlagComm, [](perf_event_attr& a) { a.comm = 1; }},
        {kFlagFreq, [](perf_event_attr& a) { a.freq = 1; }},
        {kFlagInheritStat, [](perf_event_attr& a) { a.inherit_stat = 1; }},
        {kFlagEnableOnExec, [](perf_event_attr& a) { a.enable_on_exec = 1; }},
        {kFlagTask, [](perf_event_attr& a) { a.task = 1; }},
        {kFlagWatermark, [](perf_event_attr& a) { a.watermark = 1; }},
        {kFlagPreciseIp, [](perf_event_attr& a) { a.precise_ip = 1; }},
        {kFlagMmapData, [](perf_event_attr& a) { a.mmap_data = 1; }},
        {kFlagSampleIdAll, [](perf_event_attr& a) { a.sample_id_all = 1; }},
        {kFlagExcludeHost, [](perf_event_attr& a) { a.exclude_host = 1; }},
        {kFlagExcludeGuest, [](perf_event_attr& a) { a.exclude_guest = 1; }},
        {kFlagExcludeCallchainKernel, [](perf_event_attr& a) { a.exclude_callchain_kernel = 1; }},
        {kFlagExcludeCallchainUser, [](perf_event_attr& a) { a.exclude_callchain_user = 1; }},
        {kFlagMmap2, [](perf_event_attr& a) { a.mmap2 = 1; }},
        {kFlagCommExec, [](perf_event_attr& a) { a.comm_exec = 1; }},
        {kFlagUseClockid, [](perf_event_attr& a) { a.use_clockid = 1; }},
        {kFlagContextSwitch, [](perf_event_attr& a) { a.context_switch = 1; }},
        {kFlagWriteBackward, [](perf_event_attr& a) { a.write_backward = 1; }},
        {kFlagNamespaces, [](perf_event_attr& a) { a.namespaces = 1; }},
        {kFlagKsymbol, [](perf_event_attr& a) { a.ksymbol = 1; }},
        {kFlagBpfEvent, [](perf_event_attr& a) { a.bpf_event = 1; }},
        {kFlagAuxOutput, [](perf_event_attr& a) { a.aux_output = 1; }},
        {kFlagCgroup, [](perf_event_attr& a) { a.cgroup = 1; }},
        {kFlagTextPoke, [](perf_event_attr& a) { a.text_poke = 1; }},
        {kFlagBuildId, [](perf_event_attr& a) { a.build_id = 1; }},
    };
    for (const Case& c : cases) {
        perf_event_attr kernel{};
        kernel.size = sizeof kernel;
        c.set(kernel);
        const auto attr = decode_attr(std::as_bytes(std::span(&kernel, 1)), Endian::kNative);
        ASSERT_TRUE(attr);
        EXPECT_EQ(attr->flags, std::uint64_t{1} << c.flag) << c.flag;
        EXPECT_TRUE(attr->flag(c.flag));
    }
}

TEST(EventAttr, IsReadInTheOtherByteOrder) {
    const auto attr = decode_attr(encoded_swapped(full_attr()), Endian::kSwapped);
    ASSERT_TRUE(attr);
    EventAttr want = full_attr();
    // A field of two bits starts at its high bit on a big-endian machine: mirroring turned it around.
    EXPECT_EQ(attr->precise_ip(), 2U);
    want.flags = (want.flags & ~(std::uint64_t{3} << kFlagPreciseIp)) | (std::uint64_t{2} << kFlagPreciseIp);
    EXPECT_EQ(*attr, want);
}

TEST(EventAttr, PreciseLevelsSurviveTheOtherByteOrder) {
    // As big-endian compilers lay them out: bit 63 is the first flag, precise_ip occupies bits 48 (high) and 47 (low).
    for (std::uint64_t level = 0; level < 4; ++level) {
        auto bytes = encoded_swapped(EventAttr{});
        std::uint64_t word = level << 47U;
        if constexpr (std::endian::native == std::endian::little) word = byte_swap(word);
        std::memcpy(bytes.data() + 40, &word, sizeof word);
        if constexpr (std::endian::native == std::endian::little) {
            EXPECT_EQ(decode_attr(bytes, Endian::kSwapped)->precise_ip(), level);
        }
    }
}

TEST(EventAttr, OlderSizesLackTheNewerFields) {
    struct Case {
        std::uint32_t size;
        void (*forget)(EventAttr&);  // what a kernel of that size did not have yet
    };
    const auto none = [](EventAttr&) {};
    const auto after_112 = [](EventAttr& a) { a.aux_sample_size = 0; };
    const auto after_104 = [](EventAttr& a) { a.aux_sample_size = a.aux_watermark = a.sample_max_stack = 0; };
    const auto after_96 = [](EventAttr& a) {
        a.aux_sample_size = a.aux_watermark = a.sample_max_stack = 0;
        a.sample_regs_intr = 0;
    };
    const auto after_80 = [](EventAttr& a) {
        a.aux_sample_size = a.aux_watermark = a.sample_max_stack = 0;
        a.sample_regs_intr = a.sample_regs_user = a.sample_stack_user = 0;
        a.clockid = 0;
    };
    const auto after_72 = [](EventAttr& a) {
        a.aux_sample_size = a.aux_watermark = a.sample_max_stack = 0;
        a.sample_regs_intr = a.sample_regs_user = a.sample_stack_user = 0;
        a.clockid = 0;
        a.branch_sample_type = 0;
    };
    const auto after_64 = [](EventAttr& a) {
        a.aux_sample_size = a.aux_watermark = a.sample_max_stack = 0;
        a.sample_regs_intr = a.sample_regs_user = a.sample_stack_user = 0;
        a.clockid = 0;
        a.branch_sample_type = a.config2 = 0;
    };
    for (const auto& [size, forget] : {Case{0, after_64},
                                       {64, after_64},
                                       {72, after_72},
                                       {80, after_80},
                                       {96, after_96},
                                       {104, after_104},
                                       {112, after_112},
                                       {120, none},
                                       {128, none},
                                       {136, none},
                                       {144, none},
                                       {4096, none}}) {
        auto bytes = encoded(full_attr());
        bytes.resize(200, std::byte{0xee});  // newer fields, or what follows the attr in a file
        ByteWriter(bytes).patch(4, size);
        EventAttr want = full_attr();
        forget(want);
        const auto attr = decode_attr(bytes, Endian::kNative);
        ASSERT_TRUE(attr) << size;
        EXPECT_EQ(*attr, want) << size;
    }
}

TEST(EventAttr, TooSmallIsAnError) {
    auto bytes = encoded(full_attr());
    for (std::size_t size = 0; size < 64; ++size) {
        EXPECT_EQ(decode_attr(Bytes(bytes).first(size), Endian::kNative).error().code, ErrorCode::kTruncated) << size;
    }
    // Cut in the middle of a field: what is not there counts as zero.
    for (std::size_t size = 64; size < bytes.size(); ++size) {
        EXPECT_TRUE(decode_attr(Bytes(bytes).first(size), Endian::kNative)) << size;
    }
    for (const std::uint32_t size : {1U, 63U}) {
        ByteWriter(bytes).patch(4, size);
        EXPECT_EQ(decode_attr(bytes, Endian::kNative).error().code, ErrorCode::kInvalid) << size;
    }
}

TEST(EventAttr, KnowsTheClocks) {
    EventAttr attr;
    attr.type = kTypeSoftware;
    attr.config = kSwCpuClock;
    EXPECT_TRUE(attr.is_cpu_clock());
    EXPECT_TRUE(attr.is_clock());
    attr.config = kSwTaskClock;
    EXPECT_FALSE(attr.is_cpu_clock());
    EXPECT_TRUE(attr.is_clock());
    attr.config = kSwDummy;
    EXPECT_FALSE(attr.is_clock());
    attr.type = kTypeHardware;
    attr.config = kHwCpuCycles;
    EXPECT_FALSE(attr.is_clock());
}

}  // namespace
}  // namespace perfvigil::collector
