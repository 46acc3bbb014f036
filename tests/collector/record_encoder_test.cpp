// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record_encoder.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector {
namespace {

// Byte for byte what the kernel's own record would be.
void expect_equal(Bytes ours, const test::RecordBytes& kernel) {
    EXPECT_TRUE(std::ranges::equal(ours, kernel));
    EXPECT_EQ(ours.size() % 8, 0U);
}

RecordOrigin origin() {
    return {RecordLayout::of(test::side_band_attr()), EventId{77}, CpuId{3}, monotonic_from_ns(123456)};
}

SampleId sample_id(std::int32_t pid, std::int32_t tid) {
    SampleId id;
    id.pid = Pid{pid};
    id.tid = Tid{tid};
    id.time = monotonic_from_ns(123456);
    id.id = EventId{77};
    id.cpu = CpuId{3};
    return id;
}

TEST(RecordEncoder, Comm) {
    RecordEncoder encoder;
    for (const char* comm : {"", "a", "seven77", "eight888", "two words\n", "123456789012345"}) {
        expect_equal(encoder.comm(origin(), Pid{10}, Tid{11}, comm),
                     test::record_bytes(origin().layout, CommRecord{sample_id(10, 11), Pid{10}, Tid{11}, false, comm}));
    }
    const auto record = decode_record(encoder.comm(origin(), Pid{1}, Tid{1}, "sixteen letters!"), origin().layout);
    EXPECT_EQ(std::get<CommRecord>(*record).comm, "sixteen letters");
}

TEST(RecordEncoder, ForkOfASnapshotAndItsEnd) {
    RecordEncoder encoder;
    TaskRecord task;
    task.sample = sample_id(10, 10);
    task.fork_exec = true;
    task.pid = Pid{10};
    task.tid = Tid{10};
    task.parent_pid = Pid{2};
    task.parent_tid = Tid{2};
    task.time = task.sample.time;
    expect_equal(encoder.fork(origin(), Pid{10}, Pid{2}), test::record_bytes(origin().layout, task));

    const Bytes end = encoder.finished_init();
    ASSERT_EQ(end.size(), kRecordHeaderSize);
    EXPECT_EQ(peek_header(end)->type, kRecordFinishedInit);
    EXPECT_EQ(peek_header(end)->size, kRecordHeaderSize);
    EXPECT_TRUE(decode_record(end, origin().layout).has_value());
}

TEST(RecordEncoder, Mmap2) {
    ProcMapping mapping;
    mapping.start = 0x400000;
    mapping.end = 0x401000;
    mapping.page_offset = 0x2000;
    mapping.protection = PROT_READ | PROT_EXEC;
    mapping.map_flags = MAP_PRIVATE;
    mapping.major = 0xfe;
    mapping.minor = 1;
    mapping.inode = 99;
    mapping.path = "/usr/bin/x y (deleted)";
    MmapRecord kernel;
    kernel.sample = sample_id(10, 10);
    kernel.misc = kMiscUser;
    kernel.pid = Pid{10};
    kernel.tid = Tid{10};
    kernel.start = 0x400000;
    kernel.length = 0x1000;
    kernel.page_offset = 0x2000;
    kernel.has_inode = true;
    kernel.major = 0xfe;
    kernel.minor = 1;
    kernel.inode = 99;
    kernel.protection = PROT_READ | PROT_EXEC;
    kernel.map_flags = MAP_PRIVATE;
    kernel.path = mapping.path;
    RecordEncoder encoder;
    expect_equal(encoder.mmap2(origin(), Pid{10}, mapping), test::record_bytes(origin().layout, kernel));

    mapping.protection = PROT_READ;
    const auto data = decode_record(encoder.mmap2(origin(), Pid{10}, mapping), origin().layout);
    EXPECT_NE(std::get<MmapRecord>(*data).misc & kMiscMmapData, 0U) << "as the kernel marks what is no code";

    const std::string endless(70000, 'p');
    mapping.path = endless;
    const auto record = decode_record(encoder.mmap2(origin(), Pid{10}, mapping), origin().layout);
    EXPECT_EQ(std::get<MmapRecord>(*record).path, endless.substr(0, 4095));
}

TEST(RecordEncoder, Cgroup) {
    RecordEncoder encoder;
    expect_equal(
        encoder.cgroup(origin(), CgroupId{42}, "/system.slice/ssh.service"),
        test::record_bytes(origin().layout, CgroupRecord{sample_id(0, 0), CgroupId{42}, "/system.slice/ssh.service"}));
}

TEST(RecordEncoder, ReadInEveryFormat) {
    RecordEncoder encoder;
    const std::uint64_t formats[] = {0, kReadId, kReadTotalTimeEnabled,
                                     kReadId | kReadTotalTimeEnabled | kReadTotalTimeRunning,
                                     kReadId | kReadTotalTimeEnabled | kReadTotalTimeRunning | kReadLost};
    for (const std::uint64_t format : formats) {
        EventAttr attr = test::cpu_clock_attr();
        attr.read_format = format;
        RecordOrigin from = origin();
        from.layout = RecordLayout::of(attr);
        test::ReadRecordFields fields;
        fields.id = sample_id(-1, 0);
        fields.pid = Pid{-1};
        fields.tid = Tid{0};
        fields.read = {200, 150, {{1000, EventId{77}, 5}}};
        expect_equal(encoder.read(from, Pid{-1}, Tid{0}, {EventId{77}, 1000, 200, 150, 5}),
                     test::record_bytes(from.layout, fields));
    }
}

}  // namespace
}  // namespace perfvigil::collector
