// SPDX-License-Identifier: GPL-2.0-or-later
// Files that are kept compressed (kernel modules: .ko.xz, .ko.zst, .ko.gz), unpacked into the answer. Told by their
// first bytes, not by their names.
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace perfvigil::analyzer {

// Writes what `file` holds to `out`. kExhausted without errno: more than `max_bytes`. kInvalid: not compressed in a way
// that is known, or damaged.
[[nodiscard]] Result<void> answer_inflated(int out, int file, std::uint64_t max_bytes);

}  // namespace perfvigil::analyzer
