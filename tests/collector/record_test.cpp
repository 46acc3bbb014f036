// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/collector/record_cases.hpp"

namespace perfvigil::collector {
namespace {

using namespace record_cases;

constexpr unsigned kSampleBits = 25;

std::vector<std::uint64_t> addresses(const ChainView& chain) {
    std::vector<std::uint64_t> out;
    out.reserve(chain.size());
    for (std::size_t i = 0; i < chain.size(); ++i) out.push_back(chain[i]);
    return out;
}

// Every field that the layout asks for has its value; every other one its default.
void expect_sample(const SampleRecord& got, const SampleFields& want, const RecordLayout& layout) {
    const auto has = [&](SampleBit bit) { return (layout.sample_type & bit) != 0; };
    const bool has_id = has(kSampleId) || has(kSampleIdentifier);
    EXPECT_EQ(got.misc, want.misc);
    EXPECT_EQ(got.sample.present, layout.sample_type);
    EXPECT_EQ(got.sample.pid, has(kSampleTid) ? want.id.pid : Pid{-1});
    EXPECT_EQ(got.sample.tid, has(kSampleTid) ? want.id.tid : Tid{-1});
    EXPECT_EQ(got.sample.time, has(kSampleTime) ? want.id.time : MonotonicTime{});
    EXPECT_EQ(got.sample.id, has_id ? want.id.id : EventId{});
    EXPECT_EQ(got.sample.stream_id, has(kSampleStreamId) ? want.id.stream_id : 0);
    EXPECT_EQ(got.sample.cpu, has(kSampleCpu) ? want.id.cpu : CpuId{});
    EXPECT_EQ(got.ip, has(kSampleIp) ? want.ip : 0);
    EXPECT_EQ(got.addr, has(kSampleAddr) ? want.addr : 0);
    EXPECT_EQ(got.period, has(kSamplePeriod) ? want.period : 0);
    EXPECT_EQ(got.branches, has(kSampleBranchStack) ? want.branches : 0);
    EXPECT_EQ(got.cgroup, has(kSampleCgroup) ? want.cgroup : CgroupId{});
    EXPECT_EQ(addresses(got.chain), has(kSampleCallchain) ? want.chain : std::vector<std::uint64_t>{});
    ASSERT_EQ(got.read.size(), has(kSampleRead) ? 1U : 0U);
    if (has(kSampleRead)) {
        EXPECT_EQ(got.read.time_enabled, want.read.time_enabled);
        EXPECT_EQ(got.read.time_running, want.read.time_running);
        EXPECT_EQ(got.read[0].value, want.read.members[0].value);
        EXPECT_EQ(got.read[0].id, want.read.members[0].id);
        EXPECT_EQ(got.read[0].lost, want.read.members[0].lost);
    }
    ASSERT_EQ(got.raw.size(), has(kSampleRaw) ? want.raw.size() : 0);
    EXPECT_TRUE(std::equal(got.raw.begin(), got.raw.end(), want.raw.begin()));
}

class Samples : public testing::TestWithParam<Endian> {};
INSTANTIATE_TEST_SUITE_P(Endian, Samples, testing::Values(Endian::kNative, Endian::kSwapped),
                         [](const auto& tested) { return tested.param == Endian::kNative ? "native" : "swapped"; });

TEST_P(Samples, EverySampleBitAlone) {
    for (unsigned bit = 0; bit < kSampleBits; ++bit) {
        SCOPED_TRACE(bit);
        const RecordLayout layout = layout_of(std::uint64_t{1} << bit, GetParam());
        const auto bytes = record_bytes(layout, full_sample());
        expect_sample(as<SampleRecord>(decode_record(bytes, layout)), full_sample(), layout);
    }
}

// CGROUP and the page sizes come after nearly everything: a field of the wrong size before them shows in the value.
TEST_P(Samples, EverySampleBitHasItsSize) {
    for (unsigned bit = 0; bit < kSampleBits; ++bit) {
        SCOPED_TRACE(bit);
        const RecordLayout layout = layout_of((std::uint64_t{1} << bit) | kSampleCgroup, GetParam());
        auto bytes = record_bytes(layout, full_sample());
        expect_sample(as<SampleRecord>(decode_record(bytes, layout)), full_sample(), layout);
        // Nothing is left over: one word less and the record does not hold its fields any more.
        bytes.resize(bytes.size() - 8);
        patch_size(bytes, bytes.size(), GetParam());
        EXPECT_FALSE(decode_record(bytes, layout));
    }
}

TEST_P(Samples, RandomCombinationsOfSampleBits) {
    std::mt19937_64 random(20240611);
    for (int round = 0; round < 3000; ++round) {
        RecordLayout layout = layout_of(random() & kAllSampleBits, GetParam());
        layout.read_format = random() % 32 & ~std::uint64_t{kReadGroup};
        layout.branch_sample_type = random();
        layout.regs_user = random() % (1U << 20);
        layout.regs_intr = random() % (1U << 20);
        SampleFields s = full_sample();
        s.read = {};
        s.read.members.resize(1);
        if ((layout.read_format & kReadTotalTimeEnabled) != 0) s.read.time_enabled = random();
        if ((layout.read_format & kReadTotalTimeRunning) != 0) s.read.time_running = random();
        if ((layout.read_format & kReadId) != 0) s.read.members[0].id = EventId{random()};
        if ((layout.read_format & kReadLost) != 0) s.read.members[0].lost = random();
        s.chain.resize(random() % 130, 0x1234);
        s.raw.resize((random() % 8) * 8 + 4);
        s.branches = random() % 33;
        s.user_stack_size = (random() % 4) * 8;
        s.aux_size = (random() % 4) * 8;
        s.user_regs = random() % 2 == 0;
        s.interrupt_regs = random() % 2 == 0;
        s.misc = static_cast<std::uint16_t>(random());
        const auto bytes = record_bytes(layout, s);
        SCOPED_TRACE(layout.sample_type);
        expect_sample(as<SampleRecord>(decode_record(bytes, layout)), s, layout);
        if (HasFailure()) return;
    }
}

TEST_P(Samples, GroupReadsHaveAllTheirMembers) {
    for (std::uint64_t format = 0; format < 32; ++format) {
        SCOPED_TRACE(format);
        RecordLayout layout = layout_of(kSampleRead | kSampleCgroup, GetParam());
        layout.read_format = format | kReadGroup;
        SampleFields s = full_sample();
        s.read.members = {{10, EventId{1}, 100}, {20, EventId{2}, 200}, {30, EventId{3}, 300}};
        const auto bytes = record_bytes(layout, s);
        const auto record = decode_record(bytes, layout);
        const auto& got = as<SampleRecord>(record);
        EXPECT_EQ(got.cgroup, s.cgroup);
        EXPECT_EQ(got.read.time_enabled, (format & kReadTotalTimeEnabled) != 0 ? 1000U : 0U);
        EXPECT_EQ(got.read.time_running, (format & kReadTotalTimeRunning) != 0 ? 900U : 0U);
        ASSERT_EQ(got.read.size(), 3U);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(got.read[i].value, 10 * (i + 1));
            EXPECT_EQ(got.read[i].id, EventId{(format & kReadId) != 0 ? i + 1 : 0});
            EXPECT_EQ(got.read[i].lost, (format & kReadLost) != 0 ? 100 * (i + 1) : 0);
        }
    }
}

TEST_P(Samples, BranchStacksOfEveryShape) {
    for (const std::uint64_t type :
         {std::uint64_t{0}, kBranchHwIndex, kBranchCounters, kBranchHwIndex | kBranchCounters}) {
        RecordLayout layout = layout_of(kSampleBranchStack | kSampleCodePageSize | kSampleCgroup, GetParam());
        layout.branch_sample_type = type;
        for (const std::uint64_t count : {0U, 1U, 32U}) {
            SampleFields s = full_sample();
            s.branches = count;
            const auto bytes = record_bytes(layout, s);
            expect_sample(as<SampleRecord>(decode_record(bytes, layout)), s, layout);
        }
    }
}

// Counts inside a record are promises of somebody else.
TEST_P(Samples, WildCountsAreRefused) {
    struct Case {
        std::uint64_t sample_type;
        std::size_t at;  // of a 64-bit count or size
    };
    for (const auto& [type, at] :
         {Case{kSampleCallchain, 8}, {kSampleBranchStack, 8}, {kSampleStackUser, 8}, {kSampleAux, 8}}) {
        const RecordLayout layout = layout_of(type, GetParam());
        for (const std::uint64_t count : {std::uint64_t{1} << 61U, (std::uint64_t{1} << 61U) + 1,
                                          std::uint64_t{1} << 32U, ~std::uint64_t{0}, std::uint64_t{8000}}) {
            auto bytes = record_bytes(layout, full_sample());
            ByteWriter(bytes).patch(at, GetParam() == Endian::kNative ? count : byte_swap(count));
            EXPECT_FALSE(decode_record(bytes, layout)) << type << ' ' << count;
        }
    }
    RecordLayout layout = layout_of(kSampleRead, GetParam());
    layout.read_format = kReadGroup | kReadId;
    SampleFields s = full_sample();
    s.read.members.resize(2);
    for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{1} << 60U, ~std::uint64_t{0}}) {
        auto bytes = record_bytes(layout, s);
        ByteWriter(bytes).patch(8, GetParam() == Endian::kNative ? count : byte_swap(count));
        EXPECT_FALSE(decode_record(bytes, layout)) << count;
    }
}

TEST_P(Samples, RegistersAndStackOfTheUser) {
    RecordLayout layout = layout_of(kSampleIp | kSampleRegsUser | kSampleStackUser | kSampleCgroup, GetParam());
    layout.regs_user = 0xff0fff;
    SampleFields s = full_sample();
    s.user_registers = {{0, 1}, {7, 0x7ffd1000}, {8, 0x401000}, {16, 0x16}, {23, 0x23}};
    s.user_stack = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{6}};
    const auto bytes = record_bytes(layout, s);
    const auto record = decode_record(bytes, layout);
    const auto& sample = as<SampleRecord>(record);
    EXPECT_EQ(sample.user_registers.abi, 2U);
    for (const auto& [number, value] : s.user_registers) EXPECT_EQ(sample.user_registers[number], value) << number;
    for (const unsigned absent : {12U, 15U, 24U, 63U, 64U, 1000U}) EXPECT_FALSE(sample.user_registers[absent]);
    EXPECT_EQ(sample.user_stack.dump.size(), 64U);
    EXPECT_TRUE(std::ranges::equal(sample.user_stack.bytes(), s.user_stack)) << "not what lies behind the part in use";
    EXPECT_EQ(sample.cgroup, s.cgroup) << "found behind both";

    s.user_regs = false;
    s.user_stack.clear();
    s.user_stack_size = 0;
    const auto kernel_bytes = record_bytes(layout, s);
    const auto kernel_record = decode_record(kernel_bytes, layout);
    const auto& of_kernel_thread = as<SampleRecord>(kernel_record);
    EXPECT_EQ(of_kernel_thread.user_registers.abi, 0U);
    EXPECT_FALSE(of_kernel_thread.user_registers[7]);
    EXPECT_TRUE(of_kernel_thread.user_stack.bytes().empty());
    EXPECT_EQ(of_kernel_thread.cgroup, s.cgroup);
}

// More in use than there is: the file lies.
TEST_P(Samples, NoMoreStackThanWasDumped) {
    const RecordLayout layout = layout_of(kSampleStackUser, GetParam());
    auto bytes = record_bytes(layout, full_sample());
    const std::uint64_t lie = 1U << 20;
    ByteWriter(bytes).patch(bytes.size() - 8, GetParam() == Endian::kNative ? lie : byte_swap(lie));
    const auto record = decode_record(bytes, layout);
    EXPECT_EQ(as<SampleRecord>(record).user_stack.bytes().size(), 64U);
}

TEST_P(Samples, MoreAfterASampleIsAllowed) {
    const RecordLayout layout = layout_of(kAllSampleBits, GetParam());
    for (const std::size_t more : {1U, 8U, 24U}) {
        auto bytes = record_bytes(layout, full_sample());
        bytes.resize(bytes.size() + more, std::byte{0xee});
        patch_size(bytes, bytes.size(), GetParam());
        expect_sample(as<SampleRecord>(decode_record(bytes, layout)), full_sample(), layout);
    }
}

TEST_P(Samples, KeysOfSamplesAreThoseOfTheDecodedRecord) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 2000; ++round) {
        const RecordLayout layout = layout_of(random() & kAllSampleBits, GetParam(), random() % 2 == 0);
        const auto bytes = record_bytes(layout, full_sample());
        const RecordKey key = peek_key(bytes, layout);
        ASSERT_EQ(key.time.has_value(), (layout.sample_type & kSampleTime) != 0);
        ASSERT_EQ(key.id.has_value(), (layout.sample_type & (kSampleId | kSampleIdentifier)) != 0);
        if (key.time) {
            ASSERT_EQ(*key.time, full_id().time);
        }
        if (key.id) {
            ASSERT_EQ(*key.id, full_id().id);
        }
    }
}

// --- what a kernel really wrote (6.18, x86_64) ---

template <class... Values>
RecordBytes raw(Values... values) {
    RecordBytes out;
    for (std::uint64_t word : {static_cast<std::uint64_t>(values)...}) {
        if constexpr (std::endian::native == std::endian::big) word = byte_swap(word);
        ByteWriter(out).u64(word);
    }
    return out;
}
constexpr Endian kLittle = std::endian::native == std::endian::little ? Endian::kNative : Endian::kSwapped;

TEST(RealRecords, SampleOfPerfRecordWithEverythingTurnedOn) {
    const RecordLayout layout =
        layout_of(kSampleIp | kSampleTid | kSampleTime | kSampleAddr | kSampleCallchain | kSampleId | kSampleCpu |
                      kSamplePeriod | kSampleDataSrc | kSamplePhysAddr | kSampleCgroup | kSampleWeightStruct,
                  kLittle);
    const auto bytes =
        raw(0x0088000100000009, 0xffffffff816853a0, 0x000019fa000019fa, 0x000001a48d4f274c, 0, 0x29, 0, 10101010, 4,
            kContextKernel, 0xffffffff816853a0, kContextUser, 0x00007f75a60f2ad7, 0, 0x1e05080021, 0, 0x1);
    const auto record = decode_record(bytes, layout);
    const auto& got = as<SampleRecord>(record);
    EXPECT_EQ(got.cpumode(), kMiscKernel);
    EXPECT_EQ(got.ip, 0xffffffff816853a0U);
    EXPECT_EQ(got.sample.pid, Pid{6650});
    EXPECT_EQ(got.sample.tid, Tid{6650});
    EXPECT_EQ(to_ns(got.sample.time), 1806257039180U);
    EXPECT_EQ(got.sample.id, EventId{0x29});
    EXPECT_EQ(got.sample.cpu, CpuId{0});
    EXPECT_EQ(got.period, 10101010U);
    EXPECT_EQ(got.chain.size(), 4U);
    EXPECT_EQ(got.chain[3], 0x00007f75a60f2ad7U);
    EXPECT_EQ(got.cgroup, CgroupId{1});
}

TEST(RealRecords, CommByExec) {
    const RecordLayout layout =
        layout_of(kSampleIp | kSampleTid | kSampleTime | kSampleCallchain | kSamplePeriod, kLittle);
    const auto bytes = raw(0x0028200000000003, 0x000018e1000018e1, 0x6873, 0x000018e1000018e1, 0x000001a295c56fbf);
    const auto record = decode_record(bytes, layout);
    const auto& got = as<CommRecord>(record);
    EXPECT_EQ(got.comm, "sh");
    EXPECT_TRUE(got.by_exec);
    EXPECT_EQ(got.pid, Pid{6369});
    EXPECT_EQ(to_ns(got.sample.time), 1797809074111U);
}

TEST(RealRecords, MmapWithBuildId) {
    const RecordLayout layout =
        layout_of(kSampleIp | kSampleTid | kSampleTime | kSampleCallchain | kSamplePeriod, kLittle);
    const auto bytes = raw(0x006840020000000a, 0x000018e1000018e1, 0x0000561770571000, 0x13000, 0x4000,
                           0xdd9763be00000014, 0xded705c584e3c3ff, 0xf94d880c19ed3bab, 0x0000000200000005,
                           0x6e69622f7273752f, 0x000000687361642f, 0x000018e1000018e1, 0x000001a295c5e5da);
    const auto record = decode_record(bytes, layout);
    const auto& got = as<MmapRecord>(record);
    EXPECT_EQ(got.path, "/usr/bin/dash");
    EXPECT_EQ(got.build_id.hex(), "be6397ddffc3e384c505d7deab3bed190c884df9");
    EXPECT_EQ(got.start, 0x561770571000U);
    EXPECT_EQ(got.length, 0x13000U);
    EXPECT_EQ(got.page_offset, 0x4000U);
    EXPECT_TRUE(got.executable());
    EXPECT_EQ(to_ns(got.sample.time), 1797809104346U);
}

TEST(RealRecords, Exit) {
    const RecordLayout layout =
        layout_of(kSampleIp | kSampleTid | kSampleTime | kSampleCallchain | kSamplePeriod, kLittle);
    const auto bytes = raw(0x0030000000000004, 0x000018bb000018e1, 0x000018bb000018e1, 0x000001a2b38a7772,
                           0x000018e1000018e1, 0x000001a2b38a7324);
    const auto record = decode_record(bytes, layout);
    const auto& got = as<TaskRecord>(record);
    EXPECT_TRUE(got.exit);
    EXPECT_EQ(got.pid, Pid{6369});
    EXPECT_EQ(got.parent_pid, Pid{6331});
    EXPECT_EQ(to_ns(got.sample.time), 1798308524836U);
}

TEST(RecordLayout, ComesFromTheAttr) {
    EventAttr attr;
    attr.sample_type = kSampleRegsUser | kSampleBranchStack;
    attr.read_format = kReadGroup;
    attr.branch_sample_type = kBranchHwIndex;
    attr.sample_regs_user = 0xff0fff;
    attr.sample_regs_intr = 0x5;
    RecordLayout layout = RecordLayout::of(attr, Endian::kSwapped);
    EXPECT_EQ(layout.sample_type, attr.sample_type);
    EXPECT_EQ(layout.read_format, attr.read_format);
    EXPECT_EQ(layout.branch_sample_type, attr.branch_sample_type);
    EXPECT_EQ(layout.regs_user, 0xff0fffU);
    EXPECT_EQ(layout.regs_intr, 5U);
    EXPECT_EQ(layout.endian, Endian::kSwapped);
    EXPECT_FALSE(layout.sample_id_all);
    attr.set(kFlagSampleIdAll);
    EXPECT_TRUE(RecordLayout::of(attr).sample_id_all);
}

TEST(RecordNames, AreThoseOfPerf) {
    EXPECT_EQ(record_type_name(kRecordMmap2), "MMAP2");
    EXPECT_EQ(record_type_name(kRecordCompressed2), "COMPRESSED2");
    EXPECT_EQ(record_type_name(4711), "");
}

}  // namespace
}  // namespace perfvigil::collector
