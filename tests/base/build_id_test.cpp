// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/build_id.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace perfvigil {
namespace {

constexpr std::string_view kHex = "be6397ddffc3e384c505d7deab3bed190c884df9";

TEST(BuildId, HexIsReadAndWritten) {
    const auto id = BuildId::from_hex(kHex);
    ASSERT_TRUE(id);
    EXPECT_EQ(id->bytes().size(), 20U);
    EXPECT_EQ(id->hex(), kHex);
    EXPECT_FALSE(id->empty());
    EXPECT_EQ(BuildId::from_hex("0A1b")->hex(), "0a1b");
}

TEST(BuildId, HexMustBeWholeBytesOfOneToTwenty) {
    const std::string too_long(42, 'a');
    const std::vector<std::string_view> faults{"", "a", "abc", "0g", "-1", "+1", " 1", too_long};
    for (const std::string_view bad : faults) {
        EXPECT_FALSE(BuildId::from_hex(bad)) << bad;
    }
}

TEST(BuildId, KeepsTwentyBytesAtMost) {
    const std::vector<std::byte> bytes(32, std::byte{0xab});
    EXPECT_EQ(BuildId(bytes).bytes().size(), BuildId::kMaxSize);
    EXPECT_TRUE(BuildId(Bytes{}).empty());
    EXPECT_TRUE(BuildId().empty());
}

TEST(BuildId, SizeIsPartOfTheIdentity) {
    const auto two = *BuildId::from_hex("ab00");
    const auto one = *BuildId::from_hex("ab");
    EXPECT_NE(one, two);
    EXPECT_NE(hash_value(one), hash_value(two));
    EXPECT_EQ(one, *BuildId::from_hex("AB"));
    EXPECT_EQ(hash_value(one), hash_value(*BuildId::from_hex("AB")));
}

struct Note {
    std::string_view name;  // its NUL included
    std::uint32_t type = 0;
    std::vector<std::byte> desc;
};

std::vector<std::byte> notes_of(const std::vector<Note>& notes, Endian endian = Endian::kNative) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    const auto u32 = [&](std::size_t value) {
        const auto v = static_cast<std::uint32_t>(value);
        to.u32(endian == Endian::kNative ? v : byte_swap(v));
    };
    for (const Note& note : notes) {
        u32(note.name.size());
        u32(note.desc.size());
        u32(note.type);
        to.text(note.name);
        to.zeros((4 - out.size() % 4) % 4);
        to.bytes(note.desc);
        to.zeros((4 - out.size() % 4) % 4);
    }
    return out;
}

using std::string_view_literals::operator""sv;

TEST(BuildIdFromNotes, FindsTheGnuNoteAmongOthers) {
    const std::vector<std::byte> id(20, std::byte{0x5a});
    const std::vector<Note> notes{{"Xen\0"sv, 3, std::vector<std::byte>(4)},
                                  {"GNU\0"sv, 1, std::vector<std::byte>(16)},
                                  {"Linux\0"sv, 0x101, std::vector<std::byte>(5)},
                                  {"GNU\0"sv, 3, id}};
    EXPECT_EQ(build_id_from_notes(notes_of(notes)), BuildId(id));
    EXPECT_EQ(build_id_from_notes(notes_of(notes, Endian::kSwapped), Endian::kSwapped), BuildId(id));
}

TEST(BuildIdFromNotes, NothingWhereThereIsNone) {
    EXPECT_TRUE(build_id_from_notes({}).empty());
    EXPECT_TRUE(build_id_from_notes(notes_of({{"GNU\0"sv, 1, std::vector<std::byte>(16)}})).empty());
    EXPECT_TRUE(build_id_from_notes(notes_of({{"GNX\0"sv, 3, std::vector<std::byte>(16)}})).empty());
}

TEST(BuildIdFromNotes, SurvivesEveryCutAndWildSizes) {
    const auto whole =
        notes_of({{"GNU\0"sv, 1, std::vector<std::byte>(16)}, {"GNU\0"sv, 3, std::vector<std::byte>(20)}});
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_TRUE(build_id_from_notes(cut).empty()) << size;
    }
    std::vector<std::byte> wild(16, std::byte{0xff});
    EXPECT_TRUE(build_id_from_notes(wild).empty());
}

}  // namespace
}  // namespace perfvigil
