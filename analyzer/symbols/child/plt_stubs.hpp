// SPDX-License-Identifier: GPL-2.0-or-later
// Stubs of the procedure linkage table: which slot of the global offset table each one jumps through, found in their
// code, for a table's layout depends on the linker and its options (lazy or not, with or without branch protection).
//
//   x86-64    [endbr64] [bnd] jmp *slot(%rip)       .plt .plt.sec .plt.got
//   i386      [endbr32] jmp *slot / *slot(%ebx)
//   AArch64   [bti c] adrp x16, slot; ldr x17, [x16, slot]; …
//
// Which function a slot is for, its relocation says; that is not known here.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"

namespace perfvigil::analyzer {

struct PltStub {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t slot = 0;  // link address of the word it jumps through
};

struct PltSection {
    Bytes code;
    std::uint64_t address = 0;  // of `code`
    std::uint16_t machine = 0;  // EM_X86_64 …
    std::uint64_t got = 0;      // i386, position independent: what %ebx holds
};

// In order of their addresses. Empty for machines whose stubs are not known.
[[nodiscard]] std::vector<PltStub> find_plt_stubs(const PltSection& section);

// Relocations that fill a slot with a function's address.
enum class SlotKind : std::uint8_t {
    kOther,
    kFunction,
    kResolved
};  // kResolved: by the function at the addend (IFUNC)
[[nodiscard]] SlotKind slot_kind(std::uint16_t machine, std::uint32_t relocation_type);

}  // namespace perfvigil::analyzer
