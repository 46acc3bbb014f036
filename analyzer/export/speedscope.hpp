// SPDX-License-Identifier: GPL-2.0-or-later
// Events in speedscope's own JSON (https://www.speedscope.app/file-format-schema.json), each a profile of its own:
// stacks with the thread outermost, and weights. A Profile knows no order in time, so speedscope's "time order" shows
// the heaviest stacks first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] std::string speedscope(const Profile& profile, const std::vector<std::uint32_t>& events, IdleRows idle);

}  // namespace perfvigil::analyzer
