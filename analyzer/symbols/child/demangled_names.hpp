// SPDX-License-Identifier: GPL-2.0-or-later
// The answer to kDemangle: names of functions, as tables in NameForm::kLinker have them, as they are shown.
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace perfvigil::analyzer {

// Question and answer are the names one behind the other, each with a NUL at its end. kExhausted: the answer would be
// longer than `max_bytes`.
[[nodiscard]] Result<void> answer_demangled(int table, std::uint64_t max_bytes);

}  // namespace perfvigil::analyzer
