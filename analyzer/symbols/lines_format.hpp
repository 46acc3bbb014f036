// SPDX-License-Identifier: GPL-2.0-or-later
// What perfvigil-symbols answers to a question for source lines. The question stands at the head of the same memfd:
// link addresses, u64 each, strictly ascending. Numbers are native, as in table_format.hpp; the reader trusts none.
//
//   addresses  as they were asked
//   header     u32 magic, u32 version, u32 addresses, u32 files, u32 flags, u32 names size
//   rows       per address: u32 file (its number plus one; 0: unknown), u32 line
//   ends       per file: u32 end of its name in `names`, never descending
//   names      escaped (base/text.hpp), not terminated
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfvigil::analyzer {

inline constexpr std::uint32_t kLinesMagic = 0x4c565046;  // "FPVL"
inline constexpr std::uint32_t kLinesVersion = 1;
inline constexpr std::size_t kLinesRowSize = 8;
inline constexpr std::size_t kMaxLineAddresses = 1U << 20;

enum LinesFlag : std::uint32_t {
    kLinesDebugInfo = 1,  // the file has line tables at all
};

}  // namespace perfvigil::analyzer
