// SPDX-License-Identifier: GPL-2.0-or-later
// Is this an ELF file, and which one: the header, the program headers and their notes, nothing else. Small enough to be
// done in the privileged process itself, which must know a file before it keeps it open or hands it on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/build_id.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct ElfLoad {  // a PT_LOAD with bytes in the file
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};

struct ElfHead {
    std::uint16_t type = 0;     // ET_DYN …
    std::uint16_t machine = 0;  // EM_X86_64 …
    bool wide = true;           // ELFCLASS64
    bool big_endian = false;
    BuildId build_id;  // empty where the file has none
    std::vector<ElfLoad> loads;
};

// Up to `size` bytes of the file at `offset`; fewer at its end, none on failure.
using ReadAt = std::function<std::vector<std::byte>(std::uint64_t offset, std::size_t size)>;

// kInvalid: not an ELF file, or a damaged one. At most 16 notes of 64 KiB are read.
[[nodiscard]] Result<ElfHead> read_elf_head(const ReadAt& read);
// By pread, of a regular file; its owner may change it meanwhile.
[[nodiscard]] Result<ElfHead> read_elf_head(int fd);

}  // namespace perfvigil::analyzer
