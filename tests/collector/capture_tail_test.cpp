// SPDX-License-Identifier: GPL-2.0-or-later
// Where the facts of our captures lie, and what is read where they lie elsewhere or are damaged.
#include "collector/capture_tail.hpp"

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/capture_reader.hpp"
#include "collector/capture_writer.hpp"
#include "collector/file_trailer.hpp"
#include "tests/support/capture_file_sink.hpp"
#include "tests/support/capture_memory_file.hpp"
#include "tests/support/capture_stream.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kSlices = 3;

std::vector<std::byte> capture() {
    CaptureStream stream({.slices = kSlices, .samples_per_slice = 50});
    auto file = std::make_shared<MemoryFile>();
    auto writer = CaptureWriter::create(std::make_unique<MemoryCaptureFile>(file), stream.events(), stream.host(),
                                        stream.processes(), {});
    CaptureFileSink sink(**writer);
    stream.play(sink);
    EXPECT_TRUE((*writer)->finish().has_value());
    return file->bytes;
}

struct Read {
    std::unique_ptr<CaptureReader> reader;
    std::unique_ptr<KeepingSink> sink;
};
Read read(std::vector<std::byte> bytes) {
    auto reader = CaptureReader::from_bytes(std::move(bytes), "test");
    if (!reader) {
        ADD_FAILURE() << reader.error().message;
        return {};
    }
    Read made{std::move(*reader), nullptr};
    made.sink = std::make_unique<KeepingSink>(made.reader->events());
    EXPECT_TRUE(made.reader->finish(*made.sink).has_value());
    return made;
}

FileTrailer trailer_of(const std::vector<std::byte>& file) {
    const auto trailer = read_trailer(file, file.size());
    EXPECT_TRUE(trailer);
    return trailer.value_or(FileTrailer{});
}

// The same as an earlier perfvigil wrote it: the facts are a feature, and nothing is behind the features.
std::vector<std::byte> as_feature(std::vector<std::byte> file) {
    const FileTrailer facts = trailer_of(file);
    auto header = parse_capture_header(file).value();
    const std::uint64_t table = header.data.offset + header.data.size;
    std::vector<std::byte> entries;
    ByteReader old(Bytes(file).subspan(table, header.features.count() * kFeatureTableEntrySize));
    ByteWriter to(entries);
    while (old.remaining() > 0) {
        to.u64(old.u64() + kFeatureTableEntrySize);
        to.u64(old.u64());
    }
    to.u64(facts.offset + kFeatureTableEntrySize);
    to.u64(facts.size);
    file.resize(file.size() - kTrailerSize);
    const auto at = file.begin() + static_cast<std::ptrdiff_t>(table);
    std::copy(entries.end() - kFeatureTableEntrySize, entries.end(),
              file.insert(at, kFeatureTableEntrySize, std::byte{0}));
    std::copy(entries.begin(), entries.end(), file.begin() + static_cast<std::ptrdiff_t>(table));
    header.features.set(kFeatureHostFacts);
    std::vector<std::byte> head;
    append_capture_header(header, head);
    std::copy(head.begin(), head.end(), file.begin());
    return file;
}

void expect_whole(const Read& made) {
    ASSERT_TRUE(made.reader);
    EXPECT_TRUE(made.reader->ours());
    EXPECT_EQ(made.reader->host().hostname, "stream");
    EXPECT_EQ(made.reader->host().cpu_times.size(), kSlices + 1) << "the start, then every cut";
    EXPECT_EQ(made.sink->cuts.size(), kSlices);
    EXPECT_TRUE(made.sink->cuts.back().last);
}

TEST(CaptureTail, TheHeaderNamesOnlyFeaturesThatPerfKnows) {
    const auto header = parse_capture_header(capture());
    ASSERT_TRUE(header);
    EXPECT_TRUE(header->features[kFeatureClockData]);
    constexpr unsigned kFirstUnknown = 32;  // HEADER_LAST_FEATURE of Linux 6.1
    for (unsigned bit = kFirstUnknown; bit < kFeatureBits; ++bit) EXPECT_FALSE(header->features[bit]) << bit;
}

TEST(CaptureTail, FactsAreTheLastPartOfTheFile) {
    const auto file = capture();
    EXPECT_EQ(trailer_of(file).part, FilePart::kHostFacts);
    const auto made = read(file);
    expect_whole(made);
    EXPECT_THAT(made.reader->warnings(), IsEmpty());
}

TEST(CaptureTail, EvidenceOfABundleMayLieBehindThem) {
    auto file = capture();
    const std::size_t size = file.size();
    file.resize(size + 10);
    append_trailer(FilePart::kEvidence, size, Bytes(file).last(10), file);
    const auto made = read(file);
    expect_whole(made);
    EXPECT_THAT(made.reader->warnings(), IsEmpty());
}

TEST(CaptureTail, CapturesOfEarlierVersionsSayTheSame) {
    const auto old = as_feature(capture());
    ASSERT_FALSE(part_at_end(old));
    const auto made = read(old);
    expect_whole(made);
    EXPECT_THAT(made.reader->warnings(), IsEmpty());
    const auto now = read(capture());
    EXPECT_EQ(made.sink->records, now.sink->records);
}

TEST(CaptureTail, DamagedFactsAreSaidAndThoseOfTheHeadAreRead) {
    auto file = capture();
    file[trailer_of(file).offset + 20] ^= std::byte{1};
    const auto made = read(file);
    ASSERT_TRUE(made.reader);
    EXPECT_TRUE(made.reader->ours());
    EXPECT_EQ(made.reader->host().hostname, "stream");
    EXPECT_THAT(made.reader->warnings(), ElementsAre(HasSubstr("is not what was written")));
}

TEST(CaptureTail, WithoutTheTrailerTheHeadsFactsAreRead) {
    auto file = capture();
    file.resize(trailer_of(file).offset);
    const auto made = read(file);
    ASSERT_TRUE(made.reader);
    EXPECT_TRUE(made.reader->ours());
    EXPECT_EQ(made.reader->host().hostname, "stream");
}

TEST(CaptureTail, NotEvenInTheHeadItIsACaptureLikeAnyOther) {
    auto file = capture();
    const auto records = read(file).reader->counts().samples;
    file.resize(trailer_of(file).offset);
    file[kHeadFactsOffset] = std::byte{0};
    const auto made = read(file);
    ASSERT_TRUE(made.reader);
    EXPECT_FALSE(made.reader->ours());
    EXPECT_EQ(made.reader->host().hostname, "stream") << "from perf's feature";
    EXPECT_EQ(made.reader->counts().samples, records);
    EXPECT_THAT(made.reader->warnings(), IsEmpty());
}

}  // namespace
}  // namespace perfvigil::collector
