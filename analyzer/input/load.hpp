// SPDX-License-Identifier: GPL-2.0-or-later
// Any file that holds a profile, into a Profile: what the commands of perfvigil read. The kind is recognized by
// content.
#pragma once

#include <optional>
#include <string>

#include "analyzer/input/input_format.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/sample_selection.hpp"
#include "analyzer/symbols/symbol_sources.hpp"
#include "base/error.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct LoadOptions {
    std::optional<InputFormat> format{};  // what the file is; absent: its content says so
    SampleSelection samples{};
    SymbolSources symbols{};
    bool split_hybrid = false;  // CaptureOptions
    // Captures: the timeline (Profile::moments) in as fine a grain as FineMoments makes of parts of this length, each
    // moment with all functions and without CPUs. 0: as the recorder cut it. Texts of perf script: by the second.
    Nanoseconds moment{};
};

// `path` "-": standard input. The error says why nothing in it could be read; what was salvaged is in
// Profile::warnings.
[[nodiscard]] Result<Profile> load_profile(const std::string& path, const LoadOptions& options, const Clock& clock);

}  // namespace perfvigil::analyzer
