// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/elf_head.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/elf_image.hpp"

namespace perfvigil::analyzer {
namespace {

using test::build_id_of;
using test::ElfImageSpec;
using test::make_elf;

Result<ElfHead> head_of(Bytes file) {
    return read_elf_head([&](std::uint64_t offset, std::size_t size) {
        const auto from = std::min<std::uint64_t>(offset, file.size());
        const auto part = file.subspan(from, std::min<std::uint64_t>(size, file.size() - from));
        return std::vector<std::byte>(part.begin(), part.end());
    });
}

TEST(ElfHead, TellsTypeMachineAndBuildIdInEveryForm) {
    for (const bool wide : {true, false}) {
        for (const bool big : {true, false}) {
            ElfImageSpec spec;
            spec.wide = wide;
            spec.big_endian = big;
            spec.build_id = build_id_of("00112233445566778899aabbccddeeff00112233");
            const auto head = head_of(make_elf(spec));
            ASSERT_TRUE(head) << wide << big;
            EXPECT_EQ(head->type, ET_DYN);
            EXPECT_EQ(head->machine, EM_X86_64);
            EXPECT_EQ(head->build_id, spec.build_id);
            EXPECT_EQ(head->wide, wide);
            EXPECT_EQ(head->big_endian, big);
            ASSERT_EQ(head->loads.size(), 2U);
            EXPECT_EQ(head->loads[1].offset, spec.text_offset);
            EXPECT_EQ(head->loads[1].address, spec.text_address);
            EXPECT_EQ(head->loads[1].size, spec.text_size);
        }
    }
}

TEST(ElfHead, BuildIdsOfAnyLengthAndNone) {
    ElfImageSpec spec;
    EXPECT_TRUE(head_of(make_elf(spec))->build_id.empty());
    for (const char* hex : {"01", "00112233445566778899aabbccddeeff"}) {
        spec.build_id = build_id_of(hex);
        EXPECT_EQ(head_of(make_elf(spec))->build_id.hex(), hex);
    }
}

TEST(ElfHead, RefusesWhatIsNoElf) {
    for (const char* text : {"", "#!/bin/sh\n",
                             "\x7f"
                             "EL",
                             "\x7f"
                             "ELF",
                             "\x7f"
                             "ELF\x09\x09"}) {
        const auto head = head_of(std::as_bytes(std::span(std::string_view(text))));
        ASSERT_FALSE(head) << text;
        EXPECT_EQ(head.error().code, ErrorCode::kInvalid);
    }
}

TEST(ElfHead, AFileCutAnywhereIsRefusedOrHasItsBuildIdOrNone) {
    ElfImageSpec spec;
    spec.build_id = build_id_of("0123456789abcdef");
    const auto file = make_elf(spec);
    for (std::size_t size = 0; size < 0x240; ++size) {
        const auto head = head_of(Bytes(file).first(size));
        EXPECT_TRUE(!head || head->build_id.empty() || head->build_id == spec.build_id) << size;
    }
}

TEST(ElfHead, EveryByteMayLie) {
    ElfImageSpec spec;
    spec.build_id = build_id_of("0123456789abcdef");
    const auto file = make_elf(spec);
    for (std::size_t at = 0; at < 0x220; ++at) {
        for (const unsigned value : {0x00U, 0x7fU, 0xffU}) {
            auto lie = file;
            lie[at] = std::byte{static_cast<unsigned char>(value)};
            const auto head = head_of(lie);  // must return: a head, or a sentence that says why not
            EXPECT_TRUE(head || !head.error().message.empty()) << "byte " << at << " as " << value;
        }
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
