// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record_append.hpp"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;

SampleId stamp() {
    SampleId id;
    id.pid = Pid{5};
    id.tid = Tid{6};
    id.time = monotonic_from_ns(7);
    id.id = EventId{8};
    id.stream_id = 9;
    id.cpu = CpuId{10};
    return id;
}

// One layout per combination of trailer fields, and one without a trailer.
std::vector<RecordLayout> layouts() {
    std::vector<RecordLayout> all;
    constexpr std::array kBits{kSampleTid, kSampleTime, kSampleId, kSampleStreamId, kSampleCpu, kSampleIdentifier};
    for (unsigned set = 0; set < 1U << kBits.size(); ++set) {
        RecordLayout layout;
        layout.sample_id_all = true;
        for (std::size_t i = 0; i < kBits.size(); ++i) {
            if ((set >> i & 1U) != 0) layout.sample_type |= kBits[i];
        }
        all.push_back(layout);
    }
    all.push_back(all.back());
    all.back().sample_id_all = false;
    return all;
}

MmapRecord a_mapping() {
    MmapRecord mmap{.sample = stamp(), .misc = kMiscUser, .pid = Pid{1}, .tid = Tid{2}};
    mmap.start = 0x400000;
    mmap.length = 0x1000;
    mmap.page_offset = 0x2000;
    mmap.major = 8;
    mmap.minor = 1;
    mmap.inode = 4711;
    mmap.inode_generation = 3;
    mmap.protection = 5;
    mmap.map_flags = 2;
    mmap.path = "/usr/bin/a program";
    return mmap;
}

template <class T>
std::vector<std::byte> appended(const T& record, const RecordLayout& layout) {
    std::vector<std::byte> out;
    append_record(record, layout, out);
    return out;
}

TEST(AppendRecord, WritesWhatAKernelWouldInEveryLayout) {
    const CommRecord comm{.sample = stamp(), .pid = Pid{1}, .tid = Tid{2}, .by_exec = true, .comm = "a name"};
    const CgroupRecord cgroup{.sample = stamp(), .id = CgroupId{77}, .path = "/a.slice/b.service"};
    const LostSamplesRecord lost{.sample = stamp(), .lost = 12};
    MmapRecord with_id = a_mapping();
    std::array<std::byte, 16> id;
    id.fill(std::byte{0xab});
    with_id.build_id = BuildId(id);
    MmapRecord data = a_mapping();
    data.protection = 3;
    for (const RecordLayout& layout : layouts()) {
        EXPECT_TRUE(appended(comm, layout) == record_bytes(layout, comm));
        EXPECT_TRUE(appended(cgroup, layout) == record_bytes(layout, cgroup));
        EXPECT_TRUE(appended(lost, layout) == record_bytes(layout, lost));
        EXPECT_TRUE(appended(a_mapping(), layout) == record_bytes(layout, a_mapping()));
        EXPECT_TRUE(appended(with_id, layout) == record_bytes(layout, with_id));
        EXPECT_TRUE(appended(data, layout) == record_bytes(layout, data));
    }
}

TEST(AppendRecord, ATextTooLongForARecordIsCut) {
    const RecordLayout layout = layouts().back();
    const std::string path(100'000, 'x');
    MmapRecord mmap = a_mapping();
    mmap.path = path;
    const auto bytes = appended(mmap, layout);
    const auto record = decode_record(bytes, layout);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(std::get<MmapRecord>(*record).path.size(), 4095U);
}

TEST(AppendRecord, MiscBitsOfOursStandBesideTheKernels) {
    std::vector<std::byte> out;
    append_record(LostSamplesRecord{.lost = 1}, layouts().front(), out, 1U << 14);
    EXPECT_EQ(peek_header(out)->misc, 1U << 14);
}

}  // namespace
}  // namespace perfvigil::collector
