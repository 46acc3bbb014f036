// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/plt_stubs.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace perfvigil::analyzer {
namespace {

std::vector<std::byte> code(std::initializer_list<unsigned> bytes) {
    std::vector<std::byte> out;
    for (const unsigned byte : bytes) out.push_back(std::byte{static_cast<unsigned char>(byte)});
    return out;
}

TEST(PltStubs, OfALazyX86Table) {
    // The head of the table, then two entries "jmp *slot(%rip); push n; jmp head".
    const auto bytes = code({0xff, 0x35, 0xe2, 0x2f, 0, 0, 0xff, 0x25, 0xe4, 0x2f, 0, 0,    0x0f, 0x1f, 0x40, 0,
                             0xff, 0x25, 0xe2, 0x2f, 0, 0, 0x68, 0,    0,    0,    0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
                             0xff, 0x25, 0xda, 0x2f, 0, 0, 0x68, 1,    0,    0,    0, 0xe9, 0xd0, 0xff, 0xff, 0xff});
    const auto stubs = find_plt_stubs({.code = bytes, .address = 0x1020, .machine = EM_X86_64});
    ASSERT_EQ(stubs.size(), 2U);
    EXPECT_EQ(stubs[0].address, 0x1030U);
    EXPECT_EQ(stubs[0].size, 16U);
    EXPECT_EQ(stubs[0].slot, 0x1036U + 0x2fe2U);
    EXPECT_EQ(stubs[1].address, 0x1040U);
    EXPECT_EQ(stubs[1].slot, 0x1046U + 0x2fdaU);
}

TEST(PltStubs, OfX86TablesWithBranchProtectionAndOfEightBytes) {
    const auto protected_entry =
        code({0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xfd, 0xff, 0xff, 0xff, 0x0f, 0x1f, 0x44, 0, 0});
    const auto one = find_plt_stubs({.code = protected_entry, .address = 0x2000, .machine = EM_X86_64});
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].slot, 0x200bU - 3);  // the operand is signed
    const auto short_entries = code({0xff, 0x25, 0x10, 0, 0, 0, 0x66, 0x90, 0xff, 0x25, 0x10, 0, 0, 0, 0x66, 0x90});
    const auto two = find_plt_stubs({.code = short_entries, .address = 0x3000, .machine = EM_X86_64});
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0].size, 8U);
    EXPECT_EQ(two[1].size, 8U);
    EXPECT_EQ(two[1].slot, 0x300eU + 0x10);
}

TEST(PltStubs, OfI386AreAbsoluteOrRelativeToTheTable) {
    const auto absolute = code({0xff, 0x25, 0x0c, 0xc0, 0x04, 0x08, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff});
    const auto first = find_plt_stubs({.code = absolute, .address = 0x8049030, .machine = EM_386});
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].slot, 0x804c00cU);
    const auto relative = code({0xff, 0xa3, 0x0c, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff});
    const auto second = find_plt_stubs({.code = relative, .address = 0x1030, .machine = EM_386, .got = 0x4000});
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].slot, 0x400cU);
}

TEST(PltStubs, OfArm64) {
    // bti c; adrp x16, +0x10000; ldr x17, [x16, #0x20]; add x16, x16, #0x20; br x17; nop
    const auto bytes = code({0x5f, 0x24, 0x03, 0xd5, 0x90, 0x00, 0x00, 0x90, 0x11, 0x12, 0x40, 0xf9,
                             0x10, 0x82, 0x00, 0x91, 0x20, 0x02, 0x1f, 0xd6, 0x1f, 0x20, 0x03, 0xd5});
    const auto stubs = find_plt_stubs({.code = bytes, .address = 0x5000, .machine = EM_AARCH64});
    ASSERT_EQ(stubs.size(), 1U);
    EXPECT_EQ(stubs[0].address, 0x5000U);
    EXPECT_EQ(stubs[0].size, 24U);
    EXPECT_EQ(stubs[0].slot, 0x15000U + 0x20);
}

TEST(PltStubs, OfAnythingElseAreNone) {
    const std::vector<std::byte> nops(64, std::byte{0x90});
    EXPECT_TRUE(find_plt_stubs({.code = nops, .address = 0x1000, .machine = EM_X86_64}).empty());
    EXPECT_TRUE(find_plt_stubs({.code = nops, .address = 0x1000, .machine = EM_S390}).empty());
    EXPECT_TRUE(find_plt_stubs({.code = {}, .address = 0x1000, .machine = EM_X86_64}).empty());
    // Cut inside the instruction.
    const auto cut = code({0xff, 0x25, 0xe2, 0x2f, 0});
    EXPECT_TRUE(find_plt_stubs({.code = cut, .address = 0x1000, .machine = EM_X86_64}).empty());
}

TEST(PltStubs, SlotsAreFilledByThreeKindsOfRelocation) {
    EXPECT_EQ(slot_kind(EM_X86_64, R_X86_64_JUMP_SLOT), SlotKind::kFunction);
    EXPECT_EQ(slot_kind(EM_X86_64, R_X86_64_GLOB_DAT), SlotKind::kFunction);
    EXPECT_EQ(slot_kind(EM_X86_64, R_X86_64_IRELATIVE), SlotKind::kResolved);
    EXPECT_EQ(slot_kind(EM_X86_64, R_X86_64_RELATIVE), SlotKind::kOther);
    EXPECT_EQ(slot_kind(EM_AARCH64, R_AARCH64_IRELATIVE), SlotKind::kResolved);
    EXPECT_EQ(slot_kind(EM_S390, R_390_JMP_SLOT), SlotKind::kOther);
}

}  // namespace
}  // namespace perfvigil::analyzer
