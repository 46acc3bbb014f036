// SPDX-License-Identifier: GPL-2.0-or-later
// Sections of an ELF file that libelf has open, with the bounds that a hostile file calls for.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"

namespace perfvigil::analyzer {

struct SectionLimits {
    std::uint64_t bytes = 0;  // of one section
};

// A section's contents in the host's byte order, in memory of libelf's (by pread; the file is never mapped); null when
// it has none in the file, is larger than the limit or is not all there.
[[nodiscard]] inline Elf_Data* section_data(Elf_Scn* scn, const GElf_Shdr& shdr, const SectionLimits& limits) {
    if (shdr.sh_type == SHT_NOBITS || shdr.sh_size == 0 || shdr.sh_size > limits.bytes) return nullptr;
    Elf_Data* data = elf_getdata(scn, nullptr);
    return data != nullptr && data->d_buf != nullptr && data->d_size != 0 ? data : nullptr;
}

[[nodiscard]] inline Bytes bytes_of(const Elf_Data* data) {
    if (data == nullptr) return {};
    return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

// The NUL-terminated text at `at` of a table of strings; empty where there is none.
[[nodiscard]] inline std::string_view text_at(Bytes strings, std::uint64_t at) {
    if (at >= strings.size()) return {};
    const std::string_view all(reinterpret_cast<const char*>(strings.data()), strings.size());
    const auto text = all.substr(static_cast<std::size_t>(at));
    return text.substr(0, text.find('\0'));
}

}  // namespace perfvigil::analyzer
