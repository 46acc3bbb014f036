// SPDX-License-Identifier: GPL-2.0-or-later
// A synthetic recording as the perf.data file that our recorder would have written of it.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::test {

// Runs the stream to its end.
[[nodiscard]] Result<std::vector<std::byte>> written_capture(SyntheticStream& stream, const collector::HostFacts& host);

}  // namespace perfvigil::test
