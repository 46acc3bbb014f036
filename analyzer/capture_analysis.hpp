// SPDX-License-Identifier: GPL-2.0-or-later
// A capture file into one Profile, with the names that this host can rightly give, the reader's warnings, and what
// names had to do without.
#pragma once

#include <string>

#include "analyzer/profile.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

// Reads `reader` to its end. The error is the reader's: nothing in the file could be read.
[[nodiscard]] Result<Profile> analyze_capture(collector::CaptureReader& reader, std::string id, const Clock& clock);

}  // namespace perfvigil::analyzer
