// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/file_trailer.hpp"

#include <gtest/gtest.h>

namespace perfvigil::collector {
namespace {

constexpr std::size_t kBefore = 1000;
constexpr std::size_t kPart = 50;

std::vector<std::byte> file_with(FilePart part, std::size_t before = kBefore) {
    std::vector<std::byte> file(before + kPart, std::byte{7});
    append_trailer(part, before, Bytes(file).last(kPart), file);
    return file;
}

TEST(FileTrailer, SaysWhatThePartIsAndWhereItLies) {
    for (const FilePart part : {FilePart::kHostFacts, FilePart::kEvidence}) {
        const auto file = file_with(part);
        ASSERT_EQ(file.size(), kBefore + kPart + kTrailerSize);
        EXPECT_EQ(part_at_end(file), part);
        const auto trailer = read_trailer(file, file.size());
        ASSERT_TRUE(trailer);
        EXPECT_EQ(trailer->part, part);
        EXPECT_EQ(trailer->offset, kBefore);
        EXPECT_EQ(trailer->size, kPart);
        const auto bytes = checked_part(Bytes(file).subspan(kBefore, kPart), *trailer);
        ASSERT_TRUE(bytes);
        EXPECT_EQ(bytes->size(), kPart);
        // The last bytes of the file are enough.
        EXPECT_EQ(read_trailer(Bytes(file).last(kTrailerSize), file.size()).value(), *trailer);
    }
}

TEST(FileTrailer, OfABundleIsWhatItWasBeforeThereWereOthers) {
    const auto file = file_with(FilePart::kEvidence);
    ByteReader reader(Bytes(file).last(kTrailerSize));
    EXPECT_EQ(reader.u64(), 0x454c444e55425650U);  // "PVBUNDLE"
    EXPECT_EQ(reader.u32(), 1U);
    EXPECT_EQ(reader.u32(), 0U);
    EXPECT_EQ(reader.u64(), kBefore);
    EXPECT_EQ(reader.u64(), kPart);
    reader.skip(8);
    EXPECT_EQ(reader.u64(), 0x505642554e444c45U);  // "ELDNUBVP"
}

TEST(FileTrailer, OnePartBehindTheOtherIsReadFromTheEnd) {
    auto file = file_with(FilePart::kHostFacts);
    const std::size_t first = file.size();
    file.resize(first + 20, std::byte{9});
    append_trailer(FilePart::kEvidence, first, Bytes(file).last(20), file);
    const auto evidence = read_trailer(file, file.size());
    ASSERT_TRUE(evidence);
    EXPECT_EQ(evidence->part, FilePart::kEvidence);
    const Bytes rest = Bytes(file).first(evidence->offset);
    const auto facts = read_trailer(rest, rest.size());
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->part, FilePart::kHostFacts);
    EXPECT_EQ(facts->offset, kBefore);
    EXPECT_FALSE(part_at_end(rest.first(facts->offset)));
}

TEST(FileTrailer, OtherEndsHaveNoPart) {
    const auto file = file_with(FilePart::kHostFacts);
    for (std::size_t size = 0; size < kTrailerSize; ++size) EXPECT_FALSE(part_at_end(Bytes(file).last(size))) << size;
    for (const std::size_t from_end : {kTrailerSize, kTrailerSize - 7, std::size_t{1}}) {
        auto other = file;
        other[other.size() - from_end] ^= std::byte{1};
        EXPECT_FALSE(part_at_end(other)) << from_end;
        EXPECT_FALSE(read_trailer(other, other.size())) << from_end;
    }
    EXPECT_FALSE(part_at_end(Bytes(file).first(file.size() - 1)));
}

TEST(FileTrailer, PartsThatAreNotTheFileOtherContentAndLaterVersionsAreErrors) {
    auto file = file_with(FilePart::kEvidence);
    EXPECT_FALSE(read_trailer(file, file.size() + 1));
    EXPECT_FALSE(read_trailer(file, file.size() - 1));
    EXPECT_FALSE(read_trailer(file, kTrailerSize));
    EXPECT_FALSE(read_trailer(file, kTrailerSize - 1));
    const auto trailer = read_trailer(file, file.size());
    ASSERT_TRUE(trailer);
    file[kBefore + 3] ^= std::byte{1};
    EXPECT_FALSE(checked_part(Bytes(file).subspan(kBefore, kPart), *trailer));
    file[file.size() - kTrailerSize + 8] = std::byte{9};
    const auto refused = read_trailer(file, file.size());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("version 9"), std::string::npos);
}

}  // namespace
}  // namespace perfvigil::collector
