// SPDX-License-Identifier: GPL-2.0-or-later
// Source lines for the samples of a profile whose contexts tell instructions apart (SampleSelection::by_line).
#pragma once

#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/symbols/inlined_frames.hpp"

namespace perfvigil::analyzer {

// While a profile grows, ProfileContext::source_line is a position in the sampled codes; here it becomes "file.c:12",
// or says that there is none. `frames`: CodeFrames::frames of those codes.
void name_source_lines(Profile& profile, const std::vector<std::vector<InlinedFrame>>& frames);

}  // namespace perfvigil::analyzer
