// SPDX-License-Identifier: GPL-2.0-or-later
// Which binaries the broken stacks of an imported profile break in: ProfileBuilder's count, made from names.
#pragma once

#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// Of clock events, or of all where there is none.
[[nodiscard]] std::vector<BrokenStacks> broken_stacks(const Profile& profile);

}  // namespace perfvigil::analyzer
