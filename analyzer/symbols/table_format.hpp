// SPDX-License-Identifier: GPL-2.0-or-later
// What perfvigil-symbols writes about one file, and what its caller maps and checks (FileSymbols). Both run on the
// same host and come from the same build, so numbers are native; the reader trusts none of them.
//
//   header    u32 magic, u32 version, u32 state, u32 flags, u32 segments, u32 functions, u64 names size,
//             u64 _text, u64 _stext, u64 _etext: link addresses, of a kernel image; 0: it has no such symbol
//             u64 sections of one function: of a module
//             u8 build-id size, 20 bytes of build-id, u32 CRC of the separate debug file that the file names,
//             u8 size of that name (0: it names none), 6 zero bytes            (96 bytes)
//   segments  per PT_LOAD: u64 file offset, u64 link address, u64 size in the file
//   starts    per function: u64 file offset, strictly ascending
//   sizes     per function: u32; start + size never passes the next start
//   ends      per function: u32 end of its name in `names`, never descending; it begins where the last one ended
//   names     not terminated; to show (demangled, escaped), or, where they were asked for as the linker wrote them
//             (NameForm::kLinker), those of C++ and Rust still mangled: is_mangled() tells
//   link      the name of the separate debug file: one part of a path, not terminated
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perfvigil::analyzer {

inline constexpr std::uint32_t kTableMagic = 0x53565046;  // "FPVS"
inline constexpr std::uint32_t kTableVersion = 2;
inline constexpr std::size_t kTableHeaderSize = 96;
inline constexpr std::size_t kTableSegmentSize = 24;
inline constexpr std::size_t kTableFunctionSize = 16;

enum class NameForm : std::uint32_t { kShown, kLinker };

// Whether a linker's name is, by its beginning, one of C++ or Rust.
[[nodiscard]] inline bool is_mangled(std::string_view name) {
    return name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_GLOBAL_");
}
// What the name of a stub ends in, behind the name of the function that it calls.
inline constexpr std::string_view kStubSuffix = "@plt";

// Where a kernel image was linked to.
struct KernelBounds {
    std::uint64_t text = 0;
    std::uint64_t stext = 0;
    std::uint64_t etext = 0;
};

// What the file turned out to be.
enum class FileState : std::uint32_t {
    kFunctions = 0,
    kStripped = 1,  // a sound ELF file without a single function symbol
    kNotElf = 2,
    kDamaged = 3,  // truncated or contradicting itself, and nothing usable was left
};

enum TableFlag : std::uint32_t {
    kTableSymtab = 1,   // has .symtab: what it does not cover is no function
    kTableDynsym = 2,   // has .dynsym
    kTableCut = 4,      // functions beyond the limits were left out
    kTableDamaged = 8,  // some section could not be read; the rest is here
    kTableMini = 16,    // has .gnu_debugdata: with .dynsym that is every function
};

}  // namespace perfvigil::analyzer
