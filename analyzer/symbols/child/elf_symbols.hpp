// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of one ELF file, by file offset. The only place that knows libelf. Reads with pread alone, never maps
// the file: its owner may truncate it while we read. The file may lie about everything; no number of it is believed
// before it was compared with what is really there.
//
// Functions are those of .symtab, .dynsym, the symbol table embedded in .gnu_debugdata, and the stubs through which the
// file calls others ("name@plt").
//
// A separate debug file (objcopy --only-keep-debug) has the symbols of code that it does not hold; its segments keep
// their addresses and sizes in memory, their offsets mean nothing. Its functions are read in link addresses.
//
// A kernel module (ET_REL) has no addresses at all: a symbol's value counts from the start of its section, and the
// loader places each section by itself. Told where it put them, its functions are read in runtime addresses, and
// `segments` lead from those to offsets in the file. A section whose name stands twice, or that is not named, is left
// out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/symbols/child/function_ranges.hpp"
#include "analyzer/symbols/child/gnu_sections.hpp"
#include "analyzer/symbols/module_question.hpp"
#include "analyzer/symbols/table_format.hpp"
#include "base/build_id.hpp"

namespace perfvigil::analyzer {

struct ElfLimits {
    std::uint64_t section_bytes = 512U << 20;  // of a symbol or string table; larger ones are left out (kTableDamaged)
    std::size_t functions = 4U << 20;          // beyond: kTableCut
    std::size_t segments = 256;
    std::size_t note_bytes = 64U << 10;
    std::size_t embedded_bytes =
        256U << 20;               // of the unpacked .gnu_debugdata; larger ones are left out (kTableDamaged)
    bool link_addresses = false;  // instead of file offsets: for separate debug files
    // For kernel modules: where each section of their code lies. With it only ET_REL files are read, in these
    // addresses.
    std::optional<std::vector<PlacedSection>> sections{};
};

struct ElfSegment {
    std::uint64_t offset = 0;   // of a module: its runtime address
    std::uint64_t address = 0;  // of a module: its offset in the file
    std::uint64_t size = 0;     // in the file
};

struct ElfSymbols {
    FileState state = FileState::kNotElf;
    std::uint32_t flags = 0;  // TableFlag
    BuildId build_id;
    DebugLink debug_link;  // with a name: the file says where its debug information is
    KernelBounds bounds;
    std::uint64_t split_sections = 0;  // of a module
    std::vector<ElfSegment> segments;
    std::vector<FunctionSymbol> functions;  // starts are file offsets; names are as the linker wrote them
    std::shared_ptr<void> keeps_names;      // what `functions` has views into
};

[[nodiscard]] ElfSymbols read_elf_symbols(int fd, const ElfLimits& limits = {});

}  // namespace perfvigil::analyzer
