// SPDX-License-Identifier: GPL-2.0-or-later
// Several profiles as one: a time range of a daemon's windows. Everything counted adds exactly; slices follow each
// other; names are numbered anew.
#pragma once

#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// In the order of their start. An error where they cannot be one: another host, an event weighed by another unit,
// other selections, the same stretch of time twice. One profile is returned as it is.
[[nodiscard]] Result<Profile> merge_profiles(std::vector<Profile> profiles);

}  // namespace perfvigil::analyzer
