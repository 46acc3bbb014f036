// SPDX-License-Identifier: GPL-2.0-or-later
// What holds for every Profile, whatever bytes it was made from; aborts where it does not. For fuzz targets.
#pragma once

#include "analyzer/profile.hpp"

namespace perfvigil::test {

void check_profile(const analyzer::Profile& profile);

}  // namespace perfvigil::test
