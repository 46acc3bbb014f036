// SPDX-License-Identifier: GPL-2.0-or-later
// Evaluates the DWARF expressions that unwind tables hold: those of PLTs, of signal frames and of functions that
// realign their stack. No loops and no calls, so every evaluation ends; anything else has no value. Source: DWARF 5
// section 2.5.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/unwind/registers.hpp"
#include "base/bytes.hpp"

namespace perfvigil::analyzer {

// `cfa`: lies on the stack at the start, in expressions for registers.
[[nodiscard]] std::optional<std::uint64_t> evaluate(Bytes expression, UnwindMachine machine,
                                                    const UnwindRegisters& registers, const StackMemory& stack,
                                                    std::optional<std::uint64_t> cfa);

}  // namespace perfvigil::analyzer
