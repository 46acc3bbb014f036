// SPDX-License-Identifier: GPL-2.0-or-later
// Records other than samples, and what holds for every kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "collector/record.hpp"
#include "tests/collector/record_cases.hpp"

namespace perfvigil::collector {
namespace {

using namespace record_cases;

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

class Records : public testing::TestWithParam<Endian> {};
INSTANTIATE_TEST_SUITE_P(Endian, Records, testing::Values(Endian::kNative, Endian::kSwapped),
                         [](const auto& tested) { return tested.param == Endian::kNative ? "native" : "swapped"; });

TEST_P(Records, TrailersOfEveryCombination) {
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

// A record is cut when its header says so; what it claims beyond its bytes is refused outright. The copies have
// exactly the size they claim, so that a sanitizer sees every read outside.
TEST_P(Records, EveryKindCutAtEveryByte) {
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

TEST_P(Records, MoreBeforeTheTrailerIsAllowed) {
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

TEST_P(Records, SizesThatLieAreRefused) {
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

TEST_P(Records, MmapWithInode) {
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

TEST_P(Records, MmapWithBuildId) {
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

TEST_P(Records, OldMmapsAreCodeUnlessMarkedData) {
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

TEST_P(Records, CommsHoldAnything) {
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

TEST_P(Records, Tasks) {
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

TEST_P(Records, LossAndThrottling) {
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

TEST_P(Records, Reads) {
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

TEST_P(Records, KernelTextAndCgroups) {
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

TEST_P(Records, NamespacesTellTheMountNamespace) {
    const RecordLayout layout = layout_of(kSampleTid | kSampleTime, GetParam());
    for (std::size_t count = 0; count < 9; ++count) {
        std::vector<test::NamespaceLink> links(count);
        for (std::size_t i = 0; i < count; ++i) links[i] = {4, 100 + i};
        const auto bytes = test::namespaces_bytes(layout, full_id(), Pid{1}, Tid{2}, links);
        const auto record = decode_record(bytes, layout);
        EXPECT_EQ(as<NamespacesRecord>(record).mount_ns_inode, count > 5 ? 105U : 0U);
        EXPECT_EQ(as<NamespacesRecord>(record).pid, Pid{1});
    }
}

TEST_P(Records, UnknownRecordsKeepTheirPayload) {
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

}  // namespace
}  // namespace perfvigil::collector
