// SPDX-License-Identifier: GPL-2.0-or-later
// The checks of `perfvigil doctor` that files can answer, as what the daemon publishes. Tries no event and samples
// nothing: what the session found by opening its events is its own to say.
#pragma once

#include <string>
#include <vector>

#include "collector/degraded.hpp"
#include "config/options.hpp"

namespace perfvigil::daemon {

// What is wrong with this host or our rights on it, beside `known`. `root`: before /proc, /sys and /lib (tests).
[[nodiscard]] std::vector<collector::Degraded> examine_host(const config::Options& options,
                                                            const std::vector<collector::Degraded>& known,
                                                            const std::string& root = "");

}  // namespace perfvigil::daemon
