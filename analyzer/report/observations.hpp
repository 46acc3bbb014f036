// SPDX-License-Identifier: GPL-2.0-or-later
// Observations as reports show them. Foreign names are escaped here.
#pragma once

#include <vector>

#include <boost/json/array.hpp>

#include "analyzer/observations.hpp"
#include "analyzer/text_page.hpp"

namespace perfvigil::analyzer {

// A section with its heading, a blank line before it; nothing where there is nothing to say.
void write_observations(TextPage& page, const std::vector<Observation>& observations);
[[nodiscard]] boost::json::array observations_json(const std::vector<Observation>& observations);

}  // namespace perfvigil::analyzer
