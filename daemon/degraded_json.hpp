// SPDX-License-Identifier: GPL-2.0-or-later
// What is done without, as the JSON of the API has it.
#pragma once

#include <vector>

#include <boost/json/array.hpp>

#include "collector/degraded.hpp"

namespace perfvigil::daemon {

// [{reason, detail, remedy}], texts escaped.
[[nodiscard]] boost::json::array degraded_json(const std::vector<collector::Degraded>& degraded);

}  // namespace perfvigil::daemon
