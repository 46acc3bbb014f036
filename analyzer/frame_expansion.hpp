// SPDX-License-Identifier: GPL-2.0-or-later
// Puts inlined calls and source lines into a profile whose functions stayed apart by address (SampleSelection::apart).
// Knows profiles, not where the frames come from.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/sample_selection.hpp"
#include "analyzer/symbols/inlined_frames.hpp"

namespace perfvigil::analyzer {

// ProfileFunction::line is a position in `frames` (CodeFrames::frames) plus one; afterwards a source line, or 0. Each
// function becomes the functions at its address, innermost first, as `selection` asks: what was sampled counts for the
// innermost. Stacks and functions that are the same then become one. `top`: rows that a moment keeps of each event; 0:
// all.
void expand_frames(Profile& profile, const std::vector<std::vector<InlinedFrame>>& frames,
                   const SampleSelection& selection, std::size_t top);

}  // namespace perfvigil::analyzer
