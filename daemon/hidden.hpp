// SPDX-License-Identifier: GPL-2.0-or-later
// What the configuration excludes and redacts, in this host's terms.
#pragma once

#include <string>
#include <vector>

#include "analyzer/exclusion.hpp"
#include "config/options.hpp"

namespace perfvigil::daemon {

// Asks the host who its users are (getpwnam_r), which may take a moment where a directory service answers. What is no
// user here is no rule; it is put into `unknown`, for it may be a typing error.
[[nodiscard]] analyzer::Hidden hidden_of(const config::Options& options, std::vector<std::string>& unknown);

}  // namespace perfvigil::daemon
