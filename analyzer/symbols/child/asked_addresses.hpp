// SPDX-License-Identifier: GPL-2.0-or-later
// The question at the head of the memfd of a request for lines or inlined calls (lines_format.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace perfvigil::analyzer {

// Strictly ascending, kMaxLineAddresses at most; they stand behind the first `skipped` bytes. kInvalid: the question is
// not of that form.
[[nodiscard]] Result<std::vector<std::uint64_t>> read_asked_addresses(int question, std::uint64_t skipped = 0);

}  // namespace perfvigil::analyzer
