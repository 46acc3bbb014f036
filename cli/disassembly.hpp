// SPDX-License-Identifier: GPL-2.0-or-later
// Machine code as text. The only place that knows the disassembler's library.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/annotation.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::cli {

struct CodeKind {
    std::uint16_t machine = 0;  // ELF's e_machine
    bool big_endian = false;
    bool wide = true;  // ELFCLASS64
};

// All of `code`, whose first byte lies at `address`. kUnsupported: no disassembler for this machine.
[[nodiscard]] Result<std::vector<analyzer::Instruction>> disassemble(Bytes code, std::uint64_t address, CodeKind kind);

}  // namespace perfvigil::cli
