// SPDX-License-Identifier: GPL-2.0-or-later
// One side of `perfvigil diff` as it is named on the command line, into one profile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/input/load.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::cli {

// A file, '-', a window ("latest" or an id), a stretch of windows "FROM..TO", or a comma list of all of these, which
// are merged into one.
[[nodiscard]] Result<analyzer::Profile> side_from(const std::string& source, const std::string& socket,
                                                  const analyzer::LoadOptions& options);

// The ids of a stretch, oldest first; `list` is the daemon's answer to /v1/windows. Either end may be "latest".
[[nodiscard]] Result<std::vector<std::string>> windows_between(std::string_view list, std::string_view from,
                                                               std::string_view to);

}  // namespace perfvigil::cli
