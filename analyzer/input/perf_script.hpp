// SPDX-License-Identifier: GPL-2.0-or-later
// The text of `perf script` into a Profile, in all shapes that its -F gives it. A sample weighs its period where one is
// printed, else 1; each event is its own, never summed with another.
#pragma once

#include "analyzer/input/profile_import.hpp"
#include "analyzer/input/text_lines.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// The error says why no sample could be read.
[[nodiscard]] Result<Profile> read_perf_script(TextLines& lines, Nanoseconds slice_length = kImportedSlice);

}  // namespace perfvigil::analyzer
