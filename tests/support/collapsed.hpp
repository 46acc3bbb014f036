// SPDX-License-Identifier: GPL-2.0-or-later
// Folded stacks as the public collapsing scripts print them, which tidy names on the way: what a Profile must be turned
// into before it can be compared with their results.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/profile_folds.hpp"

namespace perfvigil::test {

struct CollapseMarks {
    bool kernel = false;  // "_[k]" behind functions of the kernel
    bool jit = false;     // "_[j]" behind those of perf maps
};

[[nodiscard]] Folds collapsed(const analyzer::Profile& profile, std::uint32_t event, CollapseMarks marks);
// The stacks with clones under the name of their function, as profiles have them (analyzer/function_name.hpp).
[[nodiscard]] Folds grouped(const Folds& folds);
// What such a script printed.
[[nodiscard]] Folds parse_collapsed(std::string_view text);

}  // namespace perfvigil::test
