// SPDX-License-Identifier: GPL-2.0-or-later
// partial_coverage: fewer clock samples than ticks due.
#pragma once

#include <vector>

#include "analyzer/observations.hpp"
#include "analyzer/observations/tally.hpp"

namespace perfvigil::analyzer {

void judge_coverage(const Tally& tally, std::vector<Observation>& found);

}  // namespace perfvigil::analyzer
