// SPDX-License-Identifier: GPL-2.0-or-later
// A linker's name turned into the one its author wrote: C++ (Itanium) and Rust (legacy, its hash dropped, and v0).
// Without parameters or return types, as perf shows names. Knows no ELF. Bounded in depth, length and time; needs the
// sandbox around it all the same, for libiberty reads hostile text here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analyzer/symbols/table_format.hpp"

namespace perfvigil::analyzer {

inline constexpr std::size_t kMaxMangledName = 16384;   // longer ones are cut, not demangled
inline constexpr std::size_t kMaxDemangledName = 4096;  // longer ones end in "~"

// The name to show. A version ("@GLIBC_2.2.5") is dropped; suffixes of the compiler (".isra.0", ".cold", ".llvm.123")
// are kept, behind the demangled name. Bytes unfit for a terminal are escaped.
[[nodiscard]] std::string display_name(std::string_view linker_name);

// The name as a table of that form holds it: kLinker leaves demangling for later (demangled_names.hpp).
void append_name(std::string_view linker_name, NameForm form, std::string& to);

}  // namespace perfvigil::analyzer
