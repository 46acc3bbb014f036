// SPDX-License-Identifier: GPL-2.0-or-later
// A profile whose samples became fewer, made consistent again. Knows nothing of why they did.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// Drops the events for which `keeps` says no, their samples and their part of the moments.
void keep_events(Profile& profile, const std::function<bool(std::uint32_t)>& keeps);

// Drops functions, stacks, contexts and build-ids that nothing refers to; the others keep their order.
void drop_unused(Profile& profile);

// Profile::broken counted anew from the samples: those of clock events, or of all where there is no clock. A broken
// chain is blamed on the Dso of its outermost user frame.
[[nodiscard]] std::vector<BrokenStacks> broken_stacks_of(const Profile& profile);

}  // namespace perfvigil::analyzer
