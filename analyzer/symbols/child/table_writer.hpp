// SPDX-License-Identifier: GPL-2.0-or-later
// An ELF file's functions in the form of table_format.hpp. Names are demangled here, one per range that is kept, unless
// they are wanted as the linker wrote them.
#pragma once

#include <cstdint>

#include "analyzer/symbols/child/elf_symbols.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// Writes the table at `out_fd`'s position. kExhausted when it would be longer than `max_bytes`; nothing of it is there
// then. Consumes `symbols`.
[[nodiscard]] Result<void> write_table(int out_fd, ElfSymbols symbols, std::uint64_t max_bytes,
                                       NameForm form = NameForm::kShown);

}  // namespace perfvigil::analyzer
