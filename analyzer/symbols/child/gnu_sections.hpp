// SPDX-License-Identifier: GPL-2.0-or-later
// Two sections that GNU tools add to stripped files, given as bytes: the name of the separate debug file
// (.gnu_debuglink, objcopy --add-gnu-debuglink) and an embedded, compressed ELF file with the symbols of functions that
// .dynsym lacks (.gnu_debugdata, "MiniDebugInfo"). Knows no ELF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace perfvigil::analyzer {

struct DebugLink {
    std::string name;  // one part of a path; empty: none
    std::uint32_t crc = 0;
};

// nullopt: no sound link. The name is no path and not "." or "..".
[[nodiscard]] std::optional<DebugLink> parse_debug_link(Bytes section, Endian endian);

// The file inside .gnu_debugdata. nullopt: not a whole xz stream, or more than `max_bytes`.
[[nodiscard]] std::optional<std::vector<std::byte>> unpack_debug_data(Bytes section, std::size_t max_bytes);

// The checksum that a debug link holds of the whole file behind `fd`, read in pieces; nullopt: it could not be read.
[[nodiscard]] std::optional<std::uint32_t> debug_link_crc(int fd);

}  // namespace perfvigil::analyzer
