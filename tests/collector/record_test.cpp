// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector {
namespace {

using test::record_bytes;
using test::RecordBytes;
using test::SampleFields;

constexpr std::uint64_t kAllSampleBits = (std::uint64_t{1} << 25U) - 1;
constexpr unsigned kSampleBits = 25;
constexpr std::uint64_t kBranchHwIndex = 1U << 17;
constexpr std::uint64_t kBranchCounters = 1U << 19;

SampleId full_id() {
    return {.present = 0,
            .pid = Pid{4711},
            .tid = Tid{4712},
            .time = monotonic_from_ns(1'797'837'778'788),
            .id = EventId{0x1122334455667788},
            .stream_id = 0x99aabbccddeeff00,
            .cpu = CpuId{3}};
}

SampleFields full_sample() {
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

RecordLayout layout_of(std::uint64_t sample_type, Endian endian, bool sample_id_all = true) {
    return {.sample_type = sample_type,
            .read_format = kReadTotalTimeEnabled | kReadTotalTimeRunning | kReadId | kReadLost,
            .branch_sample_type = kBranchHwIndex | kBranchCounters,
            .regs_user = 9,
            .regs_intr = 4,
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

void patch_size(RecordBytes& bytes, std::size_t size, Endian endian) {
    const auto value = static_cast<std::uint16_t>(size);
    ByteWriter(bytes).patch(6, endian == Endian::kNative ? value : byte_swap(value));
}

std::vector<std::uint64_t> addresses(const ChainView& chain) {
    std::vector<std::uint64_t> out;
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

class InBothByteOrders : public testing::TestWithParam<Endian> {};
INSTANTIATE_TEST_SUITE_P(Endian, InBothByteOrders, testing::Values(Endian::kNative, Endian::kSwapped),
                         [](const auto& tested) { return tested.param == Endian::kNative ? "native" : "swapped"; });

TEST_P(InBothByteOrders, EverySampleBitAlone) {
    for (unsigned bit = 0; bit < kSampleBits; ++bit) {
        SCOPED_TRACE(bit);
        const RecordLayout layout = layout_of(std::uint64_t{1} << bit, GetParam());
        const auto bytes = record_bytes(layout, full_sample());
        expect_sample(as<SampleRecord>(decode_record(bytes, layout)), full_sample(), layout);
    }
}

// CGROUP and the page sizes come after nearly everything: a field of the wrong size before them shows in the value.
TEST_P(InBothByteOrders, EverySampleBitHasItsSize) {
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

TEST_P(InBothByteOrders, RandomCombinationsOfSampleBits) {
    std::mt19937_64 random(20240611);
    for (int round = 0; round < 3000; ++round) {
        RecordLayout layout = layout_of(random() & kAllSampleBits, GetParam());
        layout.read_format = random() % 32 & ~std::uint64_t{kReadGroup};
        layout.branch_sample_type = random();
        layout.regs_user = static_cast<unsigned>(random() % 20);
        layout.regs_intr = static_cast<unsigned>(random() % 20);
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

TEST_P(InBothByteOrders, GroupReadsHaveAllTheirMembers) {
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

TEST_P(InBothByteOrders, BranchStacksOfEveryShape) {
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
TEST_P(InBothByteOrders, WildCountsAreRefused) {
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

TEST_P(InBothByteOrders, MoreAfterASampleIsAllowed) {
    const RecordLayout layout = layout_of(kAllSampleBits, GetParam());
    for (const std::size_t more : {1U, 8U, 24U}) {
        auto bytes = record_bytes(layout, full_sample());
        bytes.resize(bytes.size() + more, std::byte{0xee});
        patch_size(bytes, bytes.size(), GetParam());
        expect_sample(as<SampleRecord>(decode_record(bytes, layout)), full_sample(), layout);
    }
}

// --- the other kinds ---

constexpr std::array<std::byte, 3> kOldText{std::byte{1}, std::byte{2}, std::byte{3}};
constexpr std::array<std::byte, 5> kNewText{std::byte{4}, std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
constexpr std::array<std::byte, 16> kPayload{std::byte{0x77}};

MmapRecord mmap_with_inode() {
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

MmapRecord mmap_with_build_id() {
    MmapRecord mmap = mmap_with_inode();
    mmap.has_inode = false;
    mmap.major = mmap.minor = 0;
    mmap.inode = mmap.inode_generation = 0;
    mmap.build_id = *BuildId::from_hex("be6397ddffc3e384c505d7deab3bed190c884df9");
    return mmap;
}

TaskRecord task(bool exit) {
    return {full_id(), exit, false, Pid{20}, Pid{10}, Tid{21}, Tid{11}, monotonic_from_ns(77)};
}

test::ReadRecordFields read_record() { return {full_id(), Pid{1}, Tid{2}, {1000, 900, {{5, EventId{77}, 2}}}}; }

struct Kind {
    const char* name;
    std::size_t fixed;  // bytes between header and trailer without which the record means nothing
    RecordBytes (*make)(const RecordLayout&);
};
// The READ record's layout has all of read_format but GROUP.
const std::vector<Kind> kKinds{
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

void expect_trailer(const Record& record, const RecordLayout& layout) {
    const SampleId& id = sample_id_of(record);
    const SampleId want = full_id();
    const auto has = [&](SampleBit bit) { return layout.sample_id_all && (layout.sample_type & bit) != 0; };
    EXPECT_EQ(id.pid, has(kSampleTid) ? want.pid : Pid{-1});
    EXPECT_EQ(id.time, has(kSampleTime) ? want.time : MonotonicTime{});
    EXPECT_EQ(id.id, has(kSampleId) || has(kSampleIdentifier) ? want.id : EventId{});
    EXPECT_EQ(id.stream_id, has(kSampleStreamId) ? want.stream_id : 0);
    EXPECT_EQ(id.cpu, has(kSampleCpu) ? want.cpu : CpuId{});
}

TEST_P(InBothByteOrders, TrailersOfEveryCombination) {
    constexpr std::array<SampleBit, 6> kBits{kSampleTid,      kSampleTime, kSampleId,
                                             kSampleStreamId, kSampleCpu,  kSampleIdentifier};
    for (unsigned mask = 0; mask < 64; ++mask) {
        std::uint64_t type = kSampleIp | kSamplePeriod;  // not of the trailer
        for (std::size_t i = 0; i < kBits.size(); ++i) type |= ((mask >> i) & 1U) * std::uint64_t{kBits[i]};
        for (const bool id_all : {true, false}) {
            const RecordLayout layout = layout_of(type, GetParam(), id_all);
            for (const Kind& kind : kKinds) {
                if (std::string_view(kind.name) == "SAMPLE") continue;
                SCOPED_TRACE(testing::Message() << kind.name << " mask " << mask << " all " << id_all);
                const auto bytes = kind.make(layout);
                const auto record = decode_record(bytes, layout);
                ASSERT_TRUE(record);
                expect_trailer(*record, layout);
                const RecordKey key = peek_key(bytes, layout);
                EXPECT_EQ(key.time.has_value(), id_all && (type & kSampleTime) != 0);
                EXPECT_EQ(key.id.has_value(), id_all && (type & (kSampleId | kSampleIdentifier)) != 0);
                if (key.time) {
                    EXPECT_EQ(*key.time, full_id().time);
                }
                if (key.id) {
                    EXPECT_EQ(*key.id, full_id().id);
                }
            }
        }
    }
}

TEST_P(InBothByteOrders, KeysOfSamplesAreThoseOfTheDecodedRecord) {
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

// A record is cut when its header says so; what it claims beyond its bytes is refused outright. The copies have exactly
// the size they claim, so that a sanitizer sees every read outside.
TEST_P(InBothByteOrders, EveryKindCutAtEveryByte) {
    for (const std::uint64_t type :
         {kAllSampleBits, std::uint64_t{kSampleTid | kSampleTime | kSampleIdentifier}, std::uint64_t{0}}) {
        const RecordLayout layout = layout_of(type, GetParam());
        const std::size_t trailer = record_bytes(layout, OtherRecord{full_id(), 55, 0, {}}).size() - kRecordHeaderSize;
        for (const Kind& kind : kKinds) {
            const bool sample = std::string_view(kind.name) == "SAMPLE";
            const RecordBytes whole = kind.make(layout);
            ASSERT_TRUE(decode_record(whole, layout)) << kind.name;
            for (std::size_t size = 0; size < whole.size(); ++size) {
                SCOPED_TRACE(testing::Message() << kind.name << " cut at " << size << " type " << type);
                RecordBytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
                cut.shrink_to_fit();
                EXPECT_FALSE(decode_record(cut, layout)) << "claims more than there is";
                if (size < kRecordHeaderSize) continue;
                patch_size(cut, size, GetParam());
                const auto record = decode_record(cut, layout);
                (void)peek_key(cut, layout);
                if (size < kRecordHeaderSize + kind.fixed + (sample ? 0 : trailer)) {
                    EXPECT_FALSE(record);
                }
                if (sample) {
                    EXPECT_FALSE(record) << "every byte of a sample is a field";
                }
            }
        }
    }
}

TEST_P(InBothByteOrders, MoreBeforeTheTrailerIsAllowed) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime | kSampleCpu | kSampleIdentifier, GetParam());
    const std::size_t trailer = 32;
    for (const Kind& kind : kKinds) {
        if (std::string_view(kind.name) == "SAMPLE") continue;
        SCOPED_TRACE(kind.name);
        RecordBytes bytes = kind.make(layout);
        bytes.insert(bytes.end() - static_cast<std::ptrdiff_t>(trailer), 16, std::byte{0});
        patch_size(bytes, bytes.size(), GetParam());
        const auto record = decode_record(bytes, layout);
        ASSERT_TRUE(record);
        expect_trailer(*record, layout);
    }
}

TEST_P(InBothByteOrders, SizesThatLieAreRefused) {
    const RecordLayout layout = layout_of(kAllSampleBits, GetParam());
    for (const Kind& kind : kKinds) {
        RecordBytes bytes = kind.make(layout);
        for (std::size_t size = 0; size < kRecordHeaderSize; ++size) {
            patch_size(bytes, size, GetParam());
            EXPECT_FALSE(decode_record(bytes, layout)) << kind.name << ' ' << size;
            EXPECT_FALSE(peek_key(bytes, layout).time) << kind.name << ' ' << size;
        }
    }
    EXPECT_FALSE(decode_record({}, layout));
    EXPECT_FALSE(peek_header({}));
}

TEST_P(InBothByteOrders, MmapWithInode) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    const auto bytes = record_bytes(layout, mmap_with_inode());
    const auto record = decode_record(bytes, layout);
    const auto& got = as<MmapRecord>(record);
    const MmapRecord want = mmap_with_inode();
    EXPECT_EQ(got.pid, want.pid);
    EXPECT_EQ(got.tid, want.tid);
    EXPECT_EQ(got.start, want.start);
    EXPECT_EQ(got.length, want.length);
    EXPECT_EQ(got.page_offset, want.page_offset);
    EXPECT_TRUE(got.has_inode);
    EXPECT_EQ(got.major, want.major);
    EXPECT_EQ(got.minor, want.minor);
    EXPECT_EQ(got.inode, want.inode);
    EXPECT_EQ(got.inode_generation, want.inode_generation);
    EXPECT_TRUE(got.build_id.empty());
    EXPECT_EQ(got.protection, want.protection);
    EXPECT_EQ(got.map_flags, want.map_flags);
    EXPECT_TRUE(got.executable());
    EXPECT_EQ(got.path, want.path);
}

TEST_P(InBothByteOrders, MmapWithBuildId) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    for (std::size_t size = 0; size < 256; ++size) {
        auto bytes = record_bytes(layout, mmap_with_build_id());
        bytes[kRecordHeaderSize + 32] = static_cast<std::byte>(size);
        const auto record = decode_record(bytes, layout);
        const auto& got = as<MmapRecord>(record);
        EXPECT_FALSE(got.has_inode);
        EXPECT_EQ(got.inode, 0U);
        EXPECT_EQ(got.protection, 5U);
        const auto& full = mmap_with_build_id().build_id;
        const BuildId want = size <= BuildId::kMaxSize ? BuildId(full.bytes().first(size)) : BuildId();
        EXPECT_EQ(got.build_id, want) << "a size that no build-id has: none";
        EXPECT_EQ(got.path, mmap_with_build_id().path);
    }
}

TEST_P(InBothByteOrders, OldMmapsAreCodeUnlessMarkedData) {
    const RecordLayout layout = layout_of(kSampleTid, GetParam());
    MmapRecord mmap = mmap_with_inode();
    EXPECT_TRUE(as<MmapRecord>(decode_record(test::mmap1_bytes(layout, mmap), layout)).executable());
    mmap.protection = 3;
    const auto bytes = test::mmap1_bytes(layout, mmap);
    const auto record = decode_record(bytes, layout);
    EXPECT_FALSE(as<MmapRecord>(record).executable());
    EXPECT_FALSE(as<MmapRecord>(record).has_inode);
    EXPECT_EQ(as<MmapRecord>(record).path, mmap.path);
}

TEST_P(InBothByteOrders, CommsHoldAnything) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    for (const std::string_view name :
         {"sh", "", "kworker/0:1-events_unbound", "a b\tc", "\xff\x01", "(sd-pam)", "\n"}) {
        for (const bool by_exec : {true, false}) {
            const auto bytes = record_bytes(layout, CommRecord{full_id(), Pid{5}, Tid{6}, by_exec, name});
            const auto record = decode_record(bytes, layout);
            const auto& got = as<CommRecord>(record);
            EXPECT_EQ(got.comm, name);
            EXPECT_EQ(got.by_exec, by_exec);
            EXPECT_EQ(got.pid, Pid{5});
            EXPECT_EQ(got.tid, Tid{6});
        }
    }
    // Without a NUL the name ends where the trailer begins.
    auto bytes = record_bytes(layout, CommRecord{full_id(), Pid{5}, Tid{6}, false, "1234567"});
    bytes[kRecordHeaderSize + 8 + 7] = std::byte{'8'};
    EXPECT_EQ(as<CommRecord>(decode_record(bytes, layout)).comm, "12345678");
}

TEST_P(InBothByteOrders, Tasks) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    for (const bool exit : {true, false}) {
        for (const bool fork_exec : {true, false}) {
            TaskRecord want = task(exit);
            want.fork_exec = fork_exec;
            const auto record = decode_record(record_bytes(layout, want), layout);
            const auto& got = as<TaskRecord>(record);
            EXPECT_EQ(got.exit, exit);
            EXPECT_EQ(got.fork_exec, fork_exec && !exit);
            EXPECT_EQ(got.pid, want.pid);
            EXPECT_EQ(got.parent_pid, want.parent_pid);
            EXPECT_EQ(got.tid, want.tid);
            EXPECT_EQ(got.parent_tid, want.parent_tid);
            EXPECT_EQ(got.time, want.time);
        }
    }
}

TEST_P(InBothByteOrders, LossAndThrottling) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    const auto lost = decode_record(record_bytes(layout, LostRecord{full_id(), EventId{9}, 33}), layout);
    EXPECT_EQ(as<LostRecord>(lost).id, EventId{9});
    EXPECT_EQ(as<LostRecord>(lost).lost, 33U);
    for (const bool by_filter : {true, false}) {
        const auto record = decode_record(record_bytes(layout, LostSamplesRecord{full_id(), 34, by_filter}), layout);
        EXPECT_EQ(as<LostSamplesRecord>(record).lost, 34U);
        EXPECT_EQ(as<LostSamplesRecord>(record).by_filter, by_filter);
    }
    for (const bool throttled : {true, false}) {
        const ThrottleRecord want{full_id(), throttled, monotonic_from_ns(5), EventId{6}};
        const auto record = decode_record(record_bytes(layout, want), layout);
        EXPECT_EQ(as<ThrottleRecord>(record).throttled, throttled);
        EXPECT_EQ(as<ThrottleRecord>(record).time, want.time);
        EXPECT_EQ(as<ThrottleRecord>(record).id, want.id);
    }
}

TEST_P(InBothByteOrders, Reads) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    const auto bytes = record_bytes(layout, read_record());
    const auto record = decode_record(bytes, layout);
    const auto& got = as<ReadRecord>(record);
    EXPECT_EQ(got.pid, Pid{1});
    EXPECT_EQ(got.tid, Tid{2});
    ASSERT_EQ(got.read.size(), 1U);
    EXPECT_EQ(got.read.time_enabled, 1000U);
    EXPECT_EQ(got.read.time_running, 900U);
    EXPECT_EQ(got.read[0].value, 5U);
    EXPECT_EQ(got.read[0].id, EventId{77});
    EXPECT_EQ(got.read[0].lost, 2U);
}

TEST_P(InBothByteOrders, KernelTextAndCgroups) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    for (const bool unregister : {true, false}) {
        const auto bytes =
            record_bytes(layout, KsymbolRecord{full_id(), 0xffffffffc0001000, 96, 2, unregister, "bpf_prog"});
        const auto record = decode_record(bytes, layout);
        const auto& got = as<KsymbolRecord>(record);
        EXPECT_EQ(got.address, 0xffffffffc0001000U);
        EXPECT_EQ(got.length, 96U);
        EXPECT_EQ(got.type, 2U);
        EXPECT_EQ(got.unregister, unregister);
        EXPECT_EQ(got.name, "bpf_prog");
    }
    const auto bpf = decode_record(record_bytes(layout, BpfRecord{full_id(), 2, 41}), layout);
    EXPECT_EQ(as<BpfRecord>(bpf).type, 2U);
    EXPECT_EQ(as<BpfRecord>(bpf).id, 41U);

    const auto group_bytes = record_bytes(layout, CgroupRecord{full_id(), CgroupId{3}, "/system.slice"});
    const auto group = decode_record(group_bytes, layout);
    EXPECT_EQ(as<CgroupRecord>(group).id, CgroupId{3});
    EXPECT_EQ(as<CgroupRecord>(group).path, "/system.slice");

    const auto poke_bytes = record_bytes(layout, TextPokeRecord{full_id(), 0x1000, kOldText, kNewText});
    const auto poke = decode_record(poke_bytes, layout);
    EXPECT_EQ(as<TextPokeRecord>(poke).address, 0x1000U);
    EXPECT_TRUE(std::ranges::equal(as<TextPokeRecord>(poke).old_bytes, kOldText));
    EXPECT_TRUE(std::ranges::equal(as<TextPokeRecord>(poke).new_bytes, kNewText));
}

TEST_P(InBothByteOrders, NamespacesTellTheMountNamespace) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    for (std::size_t count = 0; count < 9; ++count) {
        std::vector<test::NamespaceLink> links;
        for (std::size_t i = 0; i < count; ++i) links.push_back({4, 100 + i});
        const auto bytes = test::namespaces_bytes(layout, full_id(), Pid{1}, Tid{2}, links);
        const auto record = decode_record(bytes, layout);
        EXPECT_EQ(as<NamespacesRecord>(record).mount_ns_inode, count > 5 ? 105U : 0U);
        EXPECT_EQ(as<NamespacesRecord>(record).pid, Pid{1});
    }
}

TEST_P(InBothByteOrders, UnknownRecordsKeepTheirPayload) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    for (const std::uint32_t type : {22U, 55U, 69U, 81U, 32769U, ~0U}) {
        const auto bytes = record_bytes(layout, OtherRecord{full_id(), type, 7, kPayload});
        const auto record = decode_record(bytes, layout);
        const auto& got = as<OtherRecord>(record);
        EXPECT_EQ(got.type, type);
        EXPECT_EQ(got.misc, 7U);
        EXPECT_TRUE(std::ranges::equal(got.payload, kPayload)) << type;
        // perf's own records (64 and up) have no trailer.
        EXPECT_EQ(got.sample.pid, type < 64 ? full_id().pid : Pid{-1});
        EXPECT_EQ(peek_key(bytes, layout).time.has_value(), type < 64);
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
        raw(0x0078000100000009, 0xffffffff816853a0, 0x000019fa000019fa, 0x000001a48d4f274c, 0, 0x29, 0, 10101010, 4,
            kContextKernel, 0xffffffff816853a0, kContextUser, 0x00007f75a60f2ad7, 0, 0x1e05080021, 0, 0x1);
    ASSERT_EQ(bytes.size(), 0x88U);
    auto sized = bytes;
    ByteWriter(sized).patch(6, kLittle == Endian::kNative ? std::uint16_t{0x88} : byte_swap(std::uint16_t{0x88}));
    const auto record = decode_record(sized, layout);
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
    EXPECT_EQ(layout.regs_user, 20U);
    EXPECT_EQ(layout.regs_intr, 2U);
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
