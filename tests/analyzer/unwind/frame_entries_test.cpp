// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/unwind_entries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/frame_section.hpp"

namespace perfvigil::analyzer {
namespace {

using test::CfaProgram;
using test::FrameSectionMaker;

FrameEntries read(const FrameSectionMaker& maker) {
    FrameEntries out;
    read_frame_entries(maker.section(), out);
    return out;
}

TEST(FrameEntries, RangesAndTermsOfEhFrame) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto plain = maker.terms({});
    maker.entry(plain, 0x401000, 0x20, CfaProgram().advance(4).cfa_offset(16));
    maker.zero();  // one object's part ends, the next begins
    const auto signal = maker.terms({.augmentation = "zRS"});
    maker.entry(signal, 0x402000, 8, {});
    maker.entry(plain, 0x400ff0, 0x10, {});
    const auto found = read(maker);
    EXPECT_FALSE(found.damaged);
    ASSERT_EQ(found.entries.size(), 3U);
    EXPECT_EQ(found.entries[0].start, 0x401000U);
    EXPECT_EQ(found.entries[0].end, 0x401020U);
    EXPECT_EQ(found.entries[2].start, 0x400ff0U) << "before the section: negative distances";
    EXPECT_EQ(found.entries[0].terms, found.entries[2].terms) << "read once";
    ASSERT_EQ(found.terms.size(), 2U);
    EXPECT_EQ(found.terms[0].data_factor, -8);
    EXPECT_EQ(found.terms[0].return_column, 16U);
    EXPECT_FALSE(found.terms[0].signal_frame);
    EXPECT_TRUE(found.terms[found.entries[1].terms].signal_frame);
}

TEST(FrameEntries, EveryLetterOfAnAugmentationAndWhatFollowsUnknownOnes) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    // A personality of four bytes, its data's encoding, ours.
    const auto full = maker.terms({.augmentation = "zPLR", .augmentation_data = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b}});
    maker.entry(full, 0x401000, 4, {});
    const auto arm = maker.terms({.augmentation = "zRBG"});
    maker.entry(arm, 0x401010, 4, {});
    const auto later = maker.terms({.augmentation = "zR?", .augmentation_data = {0x1b, 9, 9}});
    maker.entry(later, 0x401020, 4, {});
    const auto found = read(maker);
    EXPECT_FALSE(found.damaged);
    ASSERT_EQ(found.entries.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found.entries[i].start, 0x401000 + 16 * i);
}

TEST(FrameEntries, DebugFrameHasAbsoluteAddressesAndFindsItsTermsByOffset) {
    for (const bool wide : {false, true}) {
        FrameSectionMaker maker(FrameSectionKind::kDebugFrame, 0);
        const auto old = maker.terms({.augmentation = "", .version = 3});
        const auto terms = maker.terms({.augmentation = "", .version = 4, .wide = wide});
        maker.entry(terms, 0x401000, 0x40, CfaProgram().cfa_offset(32));
        maker.entry(old, 0x402000, 0x40, {});
        const auto found = read(maker);
        EXPECT_FALSE(found.damaged) << wide;
        ASSERT_EQ(found.entries.size(), 2U);
        EXPECT_EQ(found.entries[0].start, 0x401000U);
        EXPECT_EQ(found.entries[0].end, 0x401040U);
        EXPECT_NE(found.entries[0].terms, found.entries[1].terms);
    }
}

TEST(FrameEntries, WhatIsNotUnderstoodCostsItselfOnly) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto good = maker.terms({});
    maker.entry(good, 0x401000, 4, {});
    const auto odd = maker.terms({.augmentation = "xyz"});
    maker.entry(odd, 0x401010, 4, {});
    const auto newer = maker.terms({.version = 9});
    maker.entry(newer, 0x401020, 4, {});
    const auto through_memory = maker.terms({.augmentation_data = {0x9b}});
    maker.entry(through_memory, 0x401030, 4, {});
    maker.entry(maker.bytes().size() + 4, 0x401040, 4, {});  // its terms would be itself
    maker.entry(std::uint64_t{0} - 1000, 0x401050, 4, {});   // … lie behind the end
    maker.entry(good, 0x401060, 0, {});                      // code that was thrown away
    maker.entry(good, 0x401070, 4, {});
    const auto found = read(maker);
    EXPECT_TRUE(found.damaged);
    ASSERT_EQ(found.entries.size(), 2U);
    EXPECT_EQ(found.entries[1].start, 0x401070U);
}

TEST(FrameEntries, TheHeaderSaysWhereTheSectionIs) {
    std::vector<std::byte> header;
    ByteWriter writer(header);
    for (const int byte : {1, 0x1b, 0x03, 0x3b}) writer.u8(static_cast<std::uint8_t>(byte));
    writer.i32(-0x100);
    EXPECT_EQ(eh_frame_address(header, 0x500000), 0x500004U - 0x100U);
    header[0] = std::byte{2};
    EXPECT_EQ(eh_frame_address(header, 0x500000), 0U);
    EXPECT_EQ(eh_frame_address(Bytes(header).first(5), 0x500000), 0U);
    EXPECT_EQ(eh_frame_address({}, 0), 0U);
}

// Cut anywhere and with any byte changed: no read outside (the sanitizers' part), entries with sound ranges.
TEST(FrameEntries, RubbishEndsAndKeepsItsPromises) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({.augmentation = "zPLR", .augmentation_data = {0x03, 1, 2, 3, 4, 0x1b, 0x1b}});
    for (unsigned i = 0; i < 5; ++i) maker.entry(terms, 0x401000 + 64 * i, 32, CfaProgram().advance(3).cfa_offset(24));
    const auto& whole = maker.bytes();
    const auto check = [](Bytes bytes, FrameSectionKind kind) {
        FrameEntries out;
        read_frame_entries({.kind = kind, .bytes = bytes, .address = 0x500000}, out);
        for (const auto& entry : out.entries) {
            ASSERT_LT(entry.start, entry.end);
            ASSERT_LT(entry.terms, out.terms.size());
        }
    };
    std::mt19937_64 random(3);
    for (const auto kind : {FrameSectionKind::kEhFrame, FrameSectionKind::kDebugFrame}) {
        for (std::size_t size = 0; size <= whole.size(); ++size) check(Bytes(whole).first(size), kind);
        for (int round = 0; round < 5000; ++round) {
            auto bytes = whole;
            for (int n = 0; n < 3; ++n) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
            check(bytes, kind);
        }
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
