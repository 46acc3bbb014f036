// SPDX-License-Identifier: GPL-2.0-or-later
// A profile's stacks as JSON for scripts (docs/exports.md): functions, and every sample with its thread, unit and the
// functions of its stack, idle ones marked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] std::string stacks_json(const Profile& profile, const std::vector<std::uint32_t>& events, IdleRows idle);

}  // namespace perfvigil::analyzer
