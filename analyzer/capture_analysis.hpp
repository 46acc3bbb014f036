// SPDX-License-Identifier: GPL-2.0-or-later
// A capture file into one Profile: all of its samples or the selected ones, with the names that this host can rightly
// give or the given sources have, the reader's warnings, and what names had to do without.
#pragma once

#include <string>

#include "analyzer/profile.hpp"
#include "analyzer/sample_selection.hpp"
#include "analyzer/symbols/symbol_sources.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

struct CaptureOptions {
    SampleSelection samples{};
    SymbolSources symbols{};
    // The same event on the core types of a hybrid CPU (cpu_core/cycles/, cpu_atom/cycles/) is one event in the
    // profile, unless they are wanted apart.
    bool split_hybrid = false;
    Nanoseconds moment{};  // LoadOptions::moment
};

// Reads `reader` to its end. The error is the reader's (nothing in the file could be read), or says which option cannot
// be obeyed.
[[nodiscard]] Result<Profile> analyze_capture(collector::CaptureReader& reader, std::string id,
                                              const CaptureOptions& options, const Clock& clock);

}  // namespace perfvigil::analyzer
