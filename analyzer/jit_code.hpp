// SPDX-License-Identifier: GPL-2.0-or-later
// Where the code that a jitdump describes lay, by time: what of a dump is needed to place it (JitPlacements).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/symbols/jit_dump.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

// From `time` on the `size` bytes that lie at `code` in the dump are at `start`.
struct JitCode {
    MonotonicTime time{};
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::uint64_t code = 0;

    friend bool operator==(const JitCode&, const JitCode&) = default;
};

// In order of time; those of one time as they stand in the dump.
[[nodiscard]] std::vector<JitCode> jit_code_of(const JitDump& dump);

}  // namespace perfvigil::analyzer
