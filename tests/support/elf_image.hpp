// SPDX-License-Identifier: GPL-2.0-or-later
// Small ELF files made byte by byte, so that a test decides what each of their numbers says: class, byte order, where
// segments lie, what the symbol tables hold, and what is wrong with them.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/build_id.hpp"

namespace perfvigil::test {

struct ElfSymbolSpec {
    std::string name;
    std::uint64_t value = 0;
    std::uint64_t size = 0;
    unsigned char type = STT_FUNC;
    unsigned char bind = STB_GLOBAL;
    std::uint16_t section = 1;  // 1: .text, 2: .data, SHN_UNDEF, SHN_ABS …
};

struct ElfSectionSpec {
    std::string name;
    std::vector<std::byte> bytes;
};

struct ElfImageSpec {
    bool wide = true;  // ELFCLASS64
    bool big_endian = false;
    std::uint16_t type = ET_DYN;
    std::uint16_t machine = EM_X86_64;
    std::uint64_t text_offset = 0x1000;  // of .text in the file
    std::uint64_t text_address = 0x401000;
    std::uint64_t text_size = 0x1000;
    std::vector<ElfSymbolSpec> symtab;
    std::vector<ElfSymbolSpec> dynsym;
    bool with_symtab = true;  // an empty one counts
    bool with_dynsym = true;
    BuildId build_id;
    std::vector<ElfSectionSpec> more{};  // of no address
    bool offsets_kept = false;  // with debug_file: as eu-strip leaves it, with the program headers of the whole file
    bool debug_file = false;  // as objcopy --only-keep-debug leaves it: no code, its segment at offset 0 without a byte
};

// Segments: PT_LOAD of the headers (offset 0), PT_LOAD of .text, PT_NOTE when there is a build-id.
// Sections: null, .text, .data (empty), .symtab, .strtab, .dynsym, .dynstr, more, .shstrtab.
[[nodiscard]] std::vector<std::byte> make_elf(const ElfImageSpec& spec);

[[nodiscard]] BuildId build_id_of(std::string_view hex);

}  // namespace perfvigil::test
