// SPDX-License-Identifier: GPL-2.0-or-later
// What perfvigil-symbols writes about how to get from each instruction of one ELF file to its caller: .eh_frame and
// .debug_frame worked out into rows. Native numbers as in table_format.hpp; the reader (FileUnwind) trusts none.
//
//   header       u32 magic, u32 version, u32 machine, u32 flags, u32 segments, u32 rows, u32 rules, u32 register rules,
//                u64 base, u32 size of the expressions, 20 zero bytes            (64 bytes)
//   segments     per PT_LOAD: u64 file offset, u64 link address, u64 size in the file
//   row starts   per row: u32 link address − base, strictly ascending; a row ends where the next one starts
//   row rules    per row: u32 number of its rule, kNoUnwindRule where nothing is known
//   rules        u8 flags, u8 CFA register, u8 return column, u8 number of register rules,
//                i32 CFA offset (or u32 start of its expression), u32 size of that, u32 first register rule
//   registers    u8 register, u8 kind, u16 size of the expression, i32 offset or register (or u32 start of the
//                expression)
//   expressions  DWARF operations, one after the other
//
// Registers are numbered as DWARF does on the machine. Those without a rule keep their value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfvigil::analyzer {

inline constexpr std::uint32_t kUnwindMagic = 0x55565046;  // "FPVU"
inline constexpr std::uint32_t kUnwindVersion = 1;
inline constexpr std::size_t kUnwindHeaderSize = 64;
inline constexpr std::size_t kUnwindSegmentSize = 24;
inline constexpr std::size_t kUnwindRowSize = 8;
inline constexpr std::size_t kUnwindRuleSize = 16;
inline constexpr std::size_t kUnwindRegisterSize = 8;
inline constexpr std::uint32_t kNoUnwindRule = 0xffffffff;

enum class UnwindMachine : std::uint32_t { kOther = 0, kX86_64 = 1, kArm64 = 2 };
// Registers that are followed: x86-64 has 0 to 15 and the return address as 16, arm64 x0 to x30 and sp as 31.
[[nodiscard]] constexpr unsigned unwind_registers(UnwindMachine machine) {
    return machine == UnwindMachine::kX86_64 ? 17 : machine == UnwindMachine::kArm64 ? 32 : 0;
}

enum UnwindTableFlag : std::uint32_t {
    kUnwindDamaged = 1,  // some of it could not be understood; the rest is here
    kUnwindCut = 2,      // rows beyond the limit were left out
};

enum UnwindRuleFlag : std::uint8_t {
    kUnwindSignal = 1,      // the kernel's frame of a signal: the caller was interrupted, it did not call
    kUnwindEnd = 2,         // nobody called: the outermost function
    kUnwindExpression = 4,  // the CFA is what the expression leaves
};

enum class RegisterRuleKind : std::uint8_t {
    kUndefined = 0,
    kOffset = 1,       // saved at CFA + offset
    kValueOffset = 2,  // is CFA + offset
    kRegister = 3,     // is in another register
    kExpression = 4,   // saved at the address that the expression leaves; the CFA is on its stack
    kValueExpression = 5,
};

}  // namespace perfvigil::analyzer
