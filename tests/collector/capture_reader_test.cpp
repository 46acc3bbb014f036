// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_reader.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/capture_header.hpp"
#include "collector/zstd_stream.hpp"
#include "tests/support/capture_foreign.hpp"
#include "tests/support/capture_heard.hpp"
#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EitherEndian : public testing::TestWithParam<Endian> {};
INSTANTIATE_TEST_SUITE_P(Orders, EitherEndian, testing::Values(Endian::kNative, Endian::kSwapped),
                         [](const auto& order) { return order.param == Endian::kNative ? "Native" : "Swapped"; });

TEST_P(EitherEndian, FilesOfBothVersionsAndPipesSayTheSame) {
    const EventAttr cycles = attr_of(0);
    const EventAttr instructions = attr_of(1);
    const Records records(cycles, GetParam());
    ForeignCapture capture(GetParam());
    capture.add_event({cycles, {1, 2}, "my cycles"});
    capture.add_event({instructions, {3}, "my instructions"});
    capture.add_feature(kFeatureHostname, [&] {
        auto text = capture.u32s({64});
        const auto name = capture.text("far away", 64);
        text.insert(text.end(), name.begin(), name.end());
        return text;
    }());
    capture.add_names();
    for (const std::uint64_t time : {30U, 10U, 20U}) capture.add_record(records.sample(time, 1 + time / 10, time));

    for (const std::uint64_t attr_size : {112U, 72U, 128U, 144U, 200U}) {
        const auto heard = hear(capture.file(attr_size));
        EXPECT_THAT(heard.times, ElementsAre(10, 20, 30)) << attr_size;
        EXPECT_THAT(heard.periods, ElementsAre(10, 20, 30));
        EXPECT_THAT(heard.events, ElementsAre("my cycles", "my instructions", "?"));
        EXPECT_EQ(heard.reader->counts().unknown_ids, 1U);
        EXPECT_EQ(heard.reader->host().hostname, "far away");
        EXPECT_FALSE(heard.reader->ours());
    }
    EXPECT_THAT(hear(capture.version1_file()).events, ElementsAre("my cycles", "my instructions", "?"));
    const auto piped = hear(capture.pipe());
    EXPECT_THAT(piped.events, ElementsAre("my cycles", "my instructions", "?"));
    EXPECT_EQ(piped.reader->host().hostname, "far away");
}

TEST(CaptureReader, AnEventWithoutANameHasPerfsName) {
    ForeignCapture capture;
    capture.add_event({attr_of(1), {1}, ""});
    EXPECT_EQ(hear(capture.file()).reader->events().events()[0].name, "instructions");
    EventAttr tracepoint = attr_of(47);
    tracepoint.type = kTypeTracepoint;
    ForeignCapture traced;
    traced.add_event({tracepoint, {1}, ""});
    EXPECT_EQ(hear(traced.file()).reader->events().events()[0].name, "tracepoint:47");
}

TEST(CaptureReader, OneEventNeedsNoIds) {
    const EventAttr attr = attr_of(0, 0);
    const Records records(attr);
    for (const std::vector<std::uint64_t>& ids : {std::vector<std::uint64_t>{}, {5}}) {
        ForeignCapture capture;
        capture.add_event({attr, ids, ""});
        capture.add_record(records.sample(10));
        EXPECT_THAT(hear(capture.file()).events, ElementsAre("cycles"));
        EXPECT_THAT(hear(capture.pipe()).events, ElementsAre("cycles"));
    }
}

TEST(CaptureReader, SeveralEventsWithoutIdsCannotBeToldApart) {
    const Records records(attr_of(0, 0));
    ForeignCapture capture;
    capture.add_event({attr_of(0, 0), {1}, ""});
    capture.add_event({attr_of(1, 0), {2}, ""});
    capture.add_record(records.sample(10));
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.events, ElementsAre("?"));
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(HasSubstr("cannot be told apart")));
}

TEST(CaptureReader, RoundsBoundWhatWaits) {
    const Records records(attr_of(0));
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    for (const auto& round : {std::vector<std::uint64_t>{30, 10}, {20, 50}, {40, 60}}) {
        for (const auto time : round) capture.add_record(records.sample(time));
        capture.add_round();
    }
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.times, ElementsAre(10, 20, 30, 40, 50, 60));
    EXPECT_EQ(heard.reader->counts().out_of_order, 0U);
}

TEST(CaptureReader, ARecordThatBreaksTheRoundsIsCountedAndDelivered) {
    const Records records(attr_of(0));
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    for (const auto time : {100U, 200U}) {
        capture.add_record(records.sample(time));
        capture.add_round();
    }
    capture.add_record(records.sample(50));
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.times, ElementsAre(100, 50, 200));
    EXPECT_EQ(heard.reader->counts().out_of_order, 1U);
    EXPECT_THAT(heard.reader->warnings(), Contains(HasSubstr("later than the capture's rounds allow")));
}

TEST(CaptureReader, WhatHasNoTimeKeepsItsPlaceInTheFile) {
    const Records records(attr_of(0));
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    capture.add_record(records.comm(0, "first"));
    capture.add_record(records.sample(30));
    capture.add_record(records.comm(~0ULL, "second"));
    capture.add_record(records.sample(20));
    EXPECT_THAT(hear(capture.file()).times, ElementsAre(0, 0, 20, 30));
}

TEST(CaptureReader, AForeignCaptureIsCutEveryFiveSeconds) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const Records records(attr_of(0));
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    capture.add_feature(kFeatureClockData, [&] {
        auto content = capture.u32s({1, 1});
        const auto times = capture.u64s({1'700'000'000 * kSecond, 100 * kSecond});
        content.insert(content.end(), times.begin(), times.end());
        return content;
    }());
    for (const auto second : {100U, 104U, 105U, 111U}) capture.add_record(records.sample(second * kSecond));
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.cut_times(), ElementsAre(105 * kSecond, 110 * kSecond, 111 * kSecond + 1));
    EXPECT_TRUE(heard.cuts.back().last);
    EXPECT_FALSE(heard.cuts.front().last);
    EXPECT_EQ(heard.cuts.front().wall, WallTime(std::chrono::seconds(1'700'000'005)));
    EXPECT_TRUE(heard.cuts.front().cpu_times.empty());
}

TEST(CaptureReader, ALongSilenceIsOneSlice) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const Records records(attr_of(0));
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    for (const auto second : {100ULL, 200'000'000ULL, 2'000'000'000ULL})
        capture.add_record(records.sample(second * kSecond));
    const auto heard = hear(capture.file());
    EXPECT_LT(heard.cuts.size(), 40U);
    EXPECT_TRUE(std::ranges::is_sorted(heard.cut_times()));
    EXPECT_TRUE(heard.cuts.back().last);
}

TEST(CaptureReader, EachMemberOfAGroupReadIsASample) {
    EventAttr leader = attr_of(0, kSampleId | kSampleRead);
    leader.read_format = kReadGroup | kReadId | kReadTotalTimeEnabled;
    EventAttr member = leader;
    member.config = 1;
    const RecordLayout layout = RecordLayout::of(leader);
    ForeignCapture capture;
    capture.add_event({leader, {1}, ""});
    capture.add_event({member, {2}, ""});
    const auto add = [&](std::uint64_t time, std::uint64_t cycles, std::uint64_t instructions) {
        SampleFields s;
        s.id.time = monotonic_from_ns(time);
        s.id.id = EventId{1};
        s.period = 999;
        s.read.members = {{cycles, EventId{1}, 0}, {instructions, EventId{2}, 0}};
        capture.add_record(record_bytes(layout, s));
    };
    add(10, 100, 50);
    add(20, 250, 50);  // no instruction was counted: no sample of it
    add(30, 300, 80);
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.events, ElementsAre("cycles", "instructions", "cycles", "cycles", "instructions"));
    EXPECT_THAT(heard.periods, ElementsAre(100, 50, 150, 50, 30));
    EXPECT_EQ(heard.reader->counts().samples, 3U);
}

// --- compressed records

std::vector<std::byte> zstd_of(const std::vector<std::byte>& raw) {
    auto compressor = ZstdCompressor::create(3);
    std::vector<std::byte> out;
    EXPECT_TRUE(compressor->compress(raw, out).has_value());
    return out;
}

class CompressedKind : public testing::TestWithParam<std::uint32_t> {
protected:
    std::vector<std::byte> payload(const std::vector<std::byte>& piece) const {
        if (GetParam() == kRecordCompressed) return piece;
        // COMPRESSED2 says how much of it is data; the rest is padding.
        std::vector<std::byte> out;
        ByteWriter(out).u64(piece.size());
        ByteWriter(out).bytes(piece);
        out.resize((out.size() + 7) / 8 * 8);
        return out;
    }
};
INSTANTIATE_TEST_SUITE_P(Kinds, CompressedKind, testing::Values(kRecordCompressed, kRecordCompressed2));

TEST_P(CompressedKind, RecordsThatStraddleItAreWhole) {
    const Records records(attr_of(0));
    ForeignCapture inner;
    for (std::uint64_t i = 0; i < 500; ++i) inner.add_record(records.sample(1000 - i));
    const auto stream = zstd_of(inner.data);
    for (const std::size_t piece : {7UL, 100UL, stream.size()}) {
        ForeignCapture capture;
        capture.add_event({attr_of(0), {1}, ""});
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            const auto end = std::min(at + piece, stream.size());
            capture.add_user_record(GetParam(), payload({stream.begin() + static_cast<std::ptrdiff_t>(at),
                                                         stream.begin() + static_cast<std::ptrdiff_t>(end)}));
        }
        const auto heard = hear(capture.file());
        EXPECT_EQ(heard.periods.size(), 500U) << piece;
        EXPECT_TRUE(std::ranges::is_sorted(heard.times));
        EXPECT_THAT(heard.reader->warnings(), IsEmpty());
    }
}

TEST_P(CompressedKind, DamageCostsWhatFollows) {
    const Records records(attr_of(0));
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    auto compressor = ZstdCompressor::create(3);
    for (int i = 0; i < 3; ++i) {
        std::vector<std::byte> piece;
        ASSERT_TRUE(compressor->compress(records.sample(10 + static_cast<std::uint64_t>(i)), piece).has_value());
        if (i == 1) std::ranges::fill(piece, std::byte{0xff});
        capture.add_user_record(GetParam(), payload(piece));
    }
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.times, ElementsAre(10));
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(AllOf(HasSubstr("at 0x"), HasSubstr("zstd"))));
}

TEST_P(CompressedKind, ABombIsRefused) {
    const std::vector<std::byte> zeros(256U << 20);
    const auto stream = zstd_of(zeros);  // 256 MiB in a few KiB
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    ASSERT_LT(stream.size(), 60000U);
    capture.add_user_record(GetParam(), payload(stream));
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.reader->warnings(), Contains(HasSubstr("expands beyond every measure")));
}

TEST_P(CompressedKind, OneInsideAnotherIsDamage) {
    const Records records(attr_of(0));
    ForeignCapture inner;
    inner.add_record(records.sample(10));
    inner.add_user_record(GetParam(), payload(zstd_of(records.sample(20))));
    ForeignCapture capture;
    capture.add_event({attr_of(0), {1}, ""});
    capture.add_user_record(GetParam(), payload(zstd_of(inner.data)));
    capture.add_record(records.sample(30));
    const auto heard = hear(capture.file());
    EXPECT_THAT(heard.times, ElementsAre(10, 30));
    EXPECT_THAT(heard.reader->warnings(), testing::SizeIs(1));
}

}  // namespace
}  // namespace perfvigil::collector
