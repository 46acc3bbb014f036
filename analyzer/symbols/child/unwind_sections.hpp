// SPDX-License-Identifier: GPL-2.0-or-later
// Where one ELF file keeps its unwind information, and what of it is code. The file may lie about everything; reads
// with pread alone (elf_symbols.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/symbols/child/elf_symbols.hpp"
#include "analyzer/symbols/child/unwind_entries.hpp"
#include "analyzer/symbols/child/unwind_program.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct UnwindSections {
    UnwindMachine machine = UnwindMachine::kOther;  // kOther: nothing else is filled
    std::vector<ElfSegment> segments;               // PT_LOAD, of what is in the file
    std::vector<CodeRange> code;                    // link addresses of executable segments
    std::vector<FrameSection> frames;               // .eh_frame first
    bool damaged = false;
    std::shared_ptr<void> keeps_bytes;  // what `frames` has views into
};

// Little-endian 64-bit files of the machines that are known; sections over `section_bytes` are left out as damaged.
[[nodiscard]] UnwindSections read_unwind_sections(int fd, std::uint64_t section_bytes);

// Writes what unwind_format.hpp describes. kExhausted: not even an empty table fits.
[[nodiscard]] Result<void> write_unwind_table(int out_fd, int file_fd, std::uint64_t max_bytes);

}  // namespace perfvigil::analyzer
