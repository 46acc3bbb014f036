// SPDX-License-Identifier: GPL-2.0-or-later
// Names for the stubs of the procedure linkage table, which no symbol table has: that of the function they jump to.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <deque>
#include <string>

#include "analyzer/symbols/child/elf_symbols.hpp"

namespace perfvigil::analyzer {

// Adds them to out.functions, whose segments and other functions are known. A stub of a function that is chosen at run
// time (IFUNC) inside this file has the name of the one that chooses it, else its address as binutils write it. Names
// that no table holds go into `made_names`, which lives as long as `out`.
void add_plt_symbols(Elf* elf, const GElf_Ehdr& header, const ElfLimits& limits, ElfSymbols& out,
                     std::deque<std::string>& made_names);

}  // namespace perfvigil::analyzer
