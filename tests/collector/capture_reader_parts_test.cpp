// SPDX-License-Identifier: GPL-2.0-or-later
// The parts that captures of other recorders may have, and what is said of damaged ones.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.hpp"
#include "collector/capture_header.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/capture_foreign.hpp"
#include "tests/support/capture_heard.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class OneEvent : public testing::Test {
protected:
    OneEvent() { capture_.add_event({attr_of(0), {1}, "cycles"}); }

    ForeignCapture capture_;
    Records records_{attr_of(0)};
};

std::vector<std::byte> joined(std::vector<std::byte> first, const std::vector<std::byte>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

TEST_F(OneEvent, UnknownRecordsArePassedOver) {
    capture_.add_record(records_.sample(10));
    capture_.add_user_record(200, std::vector<std::byte>(40));
    capture_.add_user_record(32775, std::vector<std::byte>(16));
    capture_.add_record(records_.sample(20));
    const auto heard = hear(capture_.file());
    EXPECT_THAT(heard.times, ElementsAre(10, 20));
    EXPECT_EQ(heard.reader->counts().by_type.at(32775), 1U);
    EXPECT_THAT(heard.reader->warnings(), IsEmpty());
}

TEST_F(OneEvent, APayloadOfTraceDataIsPassedOver) {
    capture_.add_record(records_.sample(10));
    // size, offset, reference, idx, tid, cpu
    capture_.add_user_record(kRecordAuxtrace, joined(capture_.u64s({24, 0, 0}), capture_.u32s({0, 0, 0, 0})));
    capture_.data.insert(capture_.data.end(), 24, std::byte{9});
    capture_.add_record(records_.sample(20));
    EXPECT_THAT(hear(capture_.file()).times, ElementsAre(10, 20));
    EXPECT_THAT(hear(capture_.pipe()).times, ElementsAre(10, 20));
}

TEST_F(OneEvent, TraceDataThatIsCutIsSaid) {
    capture_.add_user_record(kRecordAuxtrace, joined(capture_.u64s({1ULL << 40, 0, 0}), capture_.u32s({0, 0, 0, 0})));
    const auto heard = hear(capture_.file());
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(HasSubstr("bytes of trace data are missing")));
}

TEST_F(OneEvent, TracingDataOfAPipeFollowTheirRecord) {
    capture_.add_user_record(kRecordTracingData, capture_.u32s({13}));
    capture_.data.insert(capture_.data.end(), 16, std::byte{9});
    capture_.add_record(records_.sample(20));
    EXPECT_THAT(hear(capture_.pipe()).times, ElementsAre(20));
}

TEST_F(OneEvent, ARecordOfVendorsMayBeLongerThanItsSizeField) {
    // simpleperf: the upper half of the type is the upper half of the size.
    const std::size_t size = 0x10000 + 24;
    std::vector<std::byte> record;
    ByteWriter to(record);
    to.u32(32771 | 1U << 16);
    to.u16(0);
    to.u16(24);
    record.resize(size);
    capture_.add_record(record);
    capture_.add_record(records_.sample(20));
    EXPECT_THAT(hear(capture_.file()).times, ElementsAre(20));
}

TEST_F(OneEvent, NamesAndCpusMayComeAsRecords) {
    // type 2: name; id
    capture_.add_user_record(kRecordEventUpdate, joined(capture_.u64s({2, 1}), capture_.text("renamed", 16)));
    // one entry: id, position, cpu, tid
    capture_.add_user_record(kRecordIdIndex, capture_.u64s({1, 1, 0, 3, ~0ULL}));
    capture_.add_record(records_.sample(20));
    const auto heard = hear(capture_.pipe());
    EXPECT_THAT(heard.events, ElementsAre("renamed"));
    const EventInstance* instance = heard.reader->events().find(EventId{1});
    ASSERT_NE(instance, nullptr);
    EXPECT_EQ(instance->cpu, CpuId{3});
}

TEST_F(OneEvent, AnInstanceThatFollowsATaskHasNoCpu) {
    capture_.add_user_record(kRecordIdIndex, capture_.u64s({1, 1, 0, 3, 4711}));
    const auto heard = hear(capture_.pipe());
    EXPECT_EQ(heard.reader->events().find(EventId{1})->cpu, std::nullopt);
}

TEST_F(OneEvent, AFeatureWithoutContentEndsThem) {
    capture_.add_feature(kFeatureHostname, {});
    capture_.add_record(records_.sample(20));
    const auto heard = hear(capture_.pipe());
    EXPECT_THAT(heard.times, ElementsAre(20));
    EXPECT_THAT(heard.reader->warnings(), IsEmpty());
}

TEST_F(OneEvent, SimpleperfNamesItsEventsInItsMetaInfo) {
    std::vector<std::byte> info;
    for (const std::string_view part : {"clockid", "monotonic", "event_type_info", "cpu-cycles,0,0"}) {
        ByteWriter(info).text(part);
        ByteWriter(info).zeros(1);
    }
    capture_.add_feature(kFeatureMetaInfo, info);
    capture_.add_record(records_.sample(10));
    EXPECT_EQ(hear(capture_.file()).reader->events().events()[0].name, "cpu-cycles");
}

TEST_F(OneEvent, TheKernelsPlaceIsTakenFromItsMapping) {
    MmapRecord mmap{.misc = kMiscKernel, .pid = Pid{-1}};
    mmap.start = 0xffffffff81000000;
    mmap.length = 0x1000000;
    mmap.page_offset = 0xffffffff81000040;
    mmap.protection = 4;
    mmap.path = "[kernel.kallsyms]_stext";
    capture_.add_record(mmap1_bytes(records_.layout(), mmap));
    const auto heard = hear(capture_.file());
    EXPECT_EQ(heard.reader->host().kernel_start, 0xffffffff81000040);
    EXPECT_EQ(heard.reader->host().kernel_end, 0xffffffff82000000);
    EXPECT_EQ(heard.reader->host().kernel_reference, "_stext");
}

// --- build-ids

std::vector<std::byte> build_id_entry(bool with_pid, std::string_view path, std::uint8_t size_byte) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    to.u32(0);
    to.u16(static_cast<std::uint16_t>(kMiscKernel | (size_byte != 0 ? 1U << 15 : 0)));
    to.u16(0);
    if (with_pid) to.u32(static_cast<std::uint32_t>(-1));
    for (std::uint8_t i = 0; i < 20; ++i) to.u8(static_cast<std::uint8_t>(i + 1));
    to.u8(size_byte);
    to.zeros(3);
    to.padded_text(path, 64, out.size());
    to.patch(6, static_cast<std::uint16_t>(out.size()));
    return out;
}

TEST_F(OneEvent, BuildIdsOfEveryLayoutAreRead) {
    struct Case {
        bool with_pid;
        std::uint8_t size;
        std::string hex;
    };
    const std::string whole = "0102030405060708090a0b0c0d0e0f1011121314";
    for (const Case& c :
         {Case{true, 20, whole}, {true, 16, whole.substr(0, 32)}, {true, 0, whole}, {false, 0, whole}}) {
        ForeignCapture capture;
        capture.add_event({attr_of(0), {1}, ""});
        capture.add_feature(kFeatureBuildId, joined(build_id_entry(c.with_pid, "[kernel.kallsyms]", c.size),
                                                    build_id_entry(c.with_pid, "/bin/true", c.size)));
        capture.add_record(records_.sample(10));
        const auto heard = hear(capture.file());
        const auto& ids = heard.reader->build_ids();
        ASSERT_EQ(ids.size(), 2U);
        EXPECT_EQ(ids[0].path, "[kernel.kallsyms]");
        EXPECT_EQ(ids[1].path, "/bin/true");
        EXPECT_EQ(ids[1].build_id.hex(), c.hex);
        EXPECT_EQ(heard.reader->host().kernel_build_id.hex(), c.hex);
    }
}

// --- files that are not whole

TEST_F(OneEvent, ARecorderThatDiedLeavesItsRecords) {
    capture_.add_record(records_.sample(10));
    auto bytes = capture_.file();
    ByteWriter(bytes).patch(48, std::uint64_t{0});  // data.size
    bytes[72] = std::byte{0xff};                    // features that are not there
    const auto heard = hear(bytes);
    EXPECT_THAT(heard.times, ElementsAre(10));
    EXPECT_THAT(heard.reader->warnings(), Contains(HasSubstr("the recorder did not finish the file")));
}

TEST_F(OneEvent, CutAnywhereWholeRecordsAreKept) {
    for (std::uint64_t i = 1; i <= 20; ++i) capture_.add_record(records_.sample(i));
    const auto bytes = capture_.file();
    const std::size_t record = records_.sample(1).size();
    const std::size_t start = bytes.size() - 20 * record;
    for (std::size_t length = start; length < bytes.size(); ++length) {
        auto cut = bytes;
        cut.resize(length);
        const auto heard = hear(cut);
        EXPECT_EQ(heard.times.size(), (length - start) / record) << length;
        EXPECT_THAT(heard.reader->warnings(), Contains(HasSubstr("the file ends at"))) << length;
    }
}

TEST_F(OneEvent, RubbishBehindAStreamIsSaidWithItsPlace) {
    capture_.add_record(records_.sample(10));
    auto bytes = capture_.pipe();
    const std::size_t end = bytes.size();
    ByteWriter(bytes).text("[ perf record: Woken up 1 times to write data ]\n");
    const auto heard = hear(bytes);
    EXPECT_THAT(heard.times, ElementsAre(10));
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(HasSubstr(fmt::format("at {:#x}", end))));
}

TEST_F(OneEvent, ARecordWithoutASizeEndsTheReading) {
    capture_.add_record(records_.sample(10));
    capture_.data.insert(capture_.data.end(), 64, std::byte{0});
    capture_.add_record(records_.sample(20));
    const auto heard = hear(capture_.file());
    EXPECT_THAT(heard.times, ElementsAre(10));
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(AllOf(HasSubstr("damaged at 0x"), HasSubstr("claims 0 bytes"),
                                                            HasSubstr("1 whole records"))));
}

TEST_F(OneEvent, RecordsThatDoNotFitTheirLayoutAreCounted) {
    capture_.add_record(records_.sample(10));
    std::vector<std::byte> short_sample;
    ByteWriter to(short_sample);
    to.u32(kRecordSample);
    to.u16(0);
    to.u16(16);
    to.u64(1);
    capture_.add_record(short_sample);
    const auto heard = hear(capture_.file());
    EXPECT_EQ(heard.reader->counts().malformed, 1U);
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(AllOf(HasSubstr("1 records do not fit"), HasSubstr("0x"))));
}

TEST_F(OneEvent, FeaturesOutsideTheFileAreNamed) {
    capture_.add_names();
    capture_.add_record(records_.sample(10));
    auto bytes = capture_.file();
    bytes.resize(bytes.size() - 1);
    const auto heard = hear(bytes);
    EXPECT_THAT(heard.times, ElementsAre(10));
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(AllOf(HasSubstr("header features outside"), HasSubstr("12"))));
}

TEST(CaptureReader, ListsOfIdsThatOverlapAreNotMultiplied) {
    ForeignCapture capture;
    const std::vector<std::uint64_t> ids(1000, 5);
    for (std::uint64_t i = 0; i < 50; ++i)
        capture.add_event({attr_of(i % 10), i == 0 ? ids : std::vector<std::uint64_t>{}, ""});
    auto bytes = capture.file();
    // Every event claims the first one's list.
    for (std::size_t i = 0; i < 50; ++i) {
        const std::size_t entry = 104 + 8000 + i * 128 + 112;
        ByteWriter(bytes).patch(entry, std::uint64_t{104});
        ByteWriter(bytes).patch(entry + 8, std::uint64_t{8000});
    }
    const auto heard = hear(bytes);
    EXPECT_EQ(heard.reader->events().events().size(), 50U);
    EXPECT_THAT(heard.reader->warnings(), Contains(HasSubstr("lists of ids overlap")));
}

TEST(CaptureReader, WhatIsNoCaptureIsSaid) {
    struct Case {
        std::string bytes;
        const char* says;
    };
    for (const auto& [bytes, says] : {Case{"", "too short"},
                                      {"PERF", "too short"},
                                      {"hello, this is some text\n", "it begins with 'hello, t'"},
                                      {std::string("\x7f"
                                                   "ELF\x02\x01\x01\0........",
                                                   16),
                                       "it begins with '\\x7fELF"},
                                      {std::string("PERFILE2h\0\0\0\0\0\0\0", 16), "ends within its header"}}) {
        const auto raw = std::as_bytes(std::span(bytes));
        const auto reader = CaptureReader::from_bytes({raw.begin(), raw.end()}, "some/name");
        ASSERT_FALSE(reader.has_value());
        EXPECT_THAT(reader.error().message, AllOf(HasSubstr("some/name: "), HasSubstr(says)));
    }
    const auto missing = CaptureReader::open("/nonexistent/perf.data");
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(CaptureReader, ACaptureOfNothingIsAnErrorAtItsEnd) {
    auto reader = CaptureReader::from_bytes(ForeignCapture().pipe(), "empty");
    ASSERT_TRUE(reader.has_value());
    struct Nothing final : RecordSink {
        void on_record(const OrderedRecord&) override {}
        void on_cut(const Cut&) override {}
    } nothing;
    const auto finished = (*reader)->finish(nothing);
    ASSERT_FALSE(finished.has_value());
    EXPECT_THAT(finished.error().message, HasSubstr("no event and no sample"));
}

// --- where captures lie

TEST_F(OneEvent, AFolderOfFilesHasOneOrder) {
    TempFolder folder;
    ForeignCapture second;
    capture_.add_record(records_.sample(30));
    capture_.add_round();
    second.add_record(records_.sample(20));
    second.add_record(records_.sample(10));
    folder.write("c/data", Bytes(capture_.file()));
    folder.write("c/data.0", Bytes(second.data));
    const auto heard = hear(CaptureReader::open(folder / "c"));
    EXPECT_THAT(heard.times, ElementsAre(10, 20, 30));
    EXPECT_EQ(heard.reader->name(), folder / "c");
}

TEST_F(OneEvent, APipeIsReadAsItComes) {
    for (std::uint64_t i = 1; i <= 3000; ++i) capture_.add_record(records_.sample(i));
    for (const bool piped : {true, false}) {
        TempFolder folder;
        const std::string path = folder / "fifo";
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
        const auto bytes = piped ? capture_.pipe() : capture_.file();
        std::thread writer([&] {
            auto fd = open_file(path, O_WRONLY);
            for (std::size_t at = 0; fd && at < bytes.size(); at += 1000)
                (void)write_all(fd->get(), Bytes(bytes).subspan(at, std::min<std::size_t>(1000, bytes.size() - at)));
        });
        const auto heard = hear(CaptureReader::open(path));
        writer.join();
        EXPECT_EQ(heard.times.size(), 3000U);
        EXPECT_THAT(heard.reader->warnings(), IsEmpty());
    }
}

TEST_F(OneEvent, EachPumpDeliversAStretch) {
    for (std::uint64_t i = 1; i <= 200'000; ++i) {
        capture_.add_record(records_.sample(i));
        if (i % 100 == 0) capture_.add_round();
    }
    auto reader = CaptureReader::from_bytes(capture_.file(), "test");
    ASSERT_TRUE(reader.has_value());
    struct Counting final : RecordSink {
        void on_record(const OrderedRecord&) override { ++records; }
        void on_cut(const Cut&) override {}
        std::uint64_t records = 0;
    } sink;
    EXPECT_EQ((*reader)->next_pump(), MonotonicTime{});
    ASSERT_TRUE((*reader)->pump(sink).has_value());
    EXPECT_GT(sink.records, 0U);
    EXPECT_LT(sink.records, 200'000U);
    ASSERT_TRUE((*reader)->finish(sink).has_value());
    EXPECT_EQ(sink.records, 200'000U);
}

}  // namespace
}  // namespace perfvigil::collector
