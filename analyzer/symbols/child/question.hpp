// SPDX-License-Identifier: GPL-2.0-or-later
// The question at the head of the memfd that an answer is written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace perfvigil::analyzer {

// What stands in it behind the first `skipped` bytes. kInvalid: that is more than `max_bytes`.
[[nodiscard]] Result<std::vector<std::byte>> read_question(int question, std::uint64_t skipped,
                                                           std::uint64_t max_bytes);

}  // namespace perfvigil::analyzer
