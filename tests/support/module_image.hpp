// SPDX-License-Identifier: GPL-2.0-or-later
// Small kernel modules (ET_REL) made byte by byte: sections of code by name, symbols that count from their starts, a
// build-id in a note section, no program headers.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/build_id.hpp"

namespace perfvigil::test {

struct ModuleImageSpec {
    struct Code {
        std::string name;  // ".text"
        std::uint64_t size = 0x100;
        std::uint8_t fill = 0x90;
    };
    struct Symbol {
        std::string name;
        std::size_t code = 0;  // into `code`
        std::uint64_t value = 0;
        std::uint64_t size = 0;
        unsigned char type = STT_FUNC;
        unsigned char bind = STB_LOCAL;
    };
    std::vector<Code> code;
    std::vector<Symbol> symbols;
    BuildId build_id;
    std::uint16_t type = ET_REL;
};

[[nodiscard]] std::vector<std::byte> make_module(const ModuleImageSpec& spec);
// Where code section `index` stands in that file.
[[nodiscard]] std::uint64_t module_code_offset(const ModuleImageSpec& spec, std::size_t index);

// As the tool of that name packs it.
enum class Packing : std::uint8_t { kGzip, kXz, kZstd };
[[nodiscard]] std::vector<std::byte> packed(const std::vector<std::byte>& bytes, Packing packing);

}  // namespace perfvigil::test
