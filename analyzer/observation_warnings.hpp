// SPDX-License-Identifier: GPL-2.0-or-later
// What must be told where no observations are shown: in exports, and beside what a command writes to a file.
#pragma once

#include <string>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// The profile's warnings, and what observations of that severity found.
[[nodiscard]] std::vector<std::string> warnings_of(const Profile& profile);

}  // namespace perfvigil::analyzer
