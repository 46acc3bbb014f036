// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/jit_code.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

std::vector<JitCode> jit_code_of(const JitDump& dump) {
    std::vector<JitCode> all;
    all.reserve(dump.placements().size());
    for (const auto& placement : dump.placements()) {
        all.push_back({.time = placement.time,
                       .start = placement.start,
                       .size = dump.size_of(placement),
                       .code = dump.code_of(placement).value});
    }
    std::ranges::stable_sort(all, {}, &JitCode::time);
    return all;
}

}  // namespace perfvigil::analyzer
