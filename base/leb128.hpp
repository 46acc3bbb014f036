// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers of variable length as DWARF writes them, seven bits a byte, lowest first. Bits above the 64th are dropped; a
// number that does not end fails its reader.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace perfvigil {

[[nodiscard]] inline std::uint64_t read_uleb128(ByteReader& in) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const std::uint8_t byte = in.u8();
        if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
        if ((byte & 0x80U) == 0) return value;
    }
}

[[nodiscard]] inline std::int64_t read_sleb128(ByteReader& in) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
        const std::uint8_t byte = in.u8();
        if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
        shift += 7;
        if ((byte & 0x80U) != 0) continue;
        if (shift < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(value);
    }
}

}  // namespace perfvigil
