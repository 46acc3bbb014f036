// SPDX-License-Identifier: GPL-2.0-or-later
// Makes a bundle of a capture: reads it as a report would, keeps every answer, and puts them behind a copy of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/symbols/symbol_sources.hpp"
#include "base/error.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct BundleOptions {
    SymbolSources symbols{};
    std::size_t most_functions = 200;          // whose machine code is kept, the hottest first
    std::uint64_t most_code_bytes = 4U << 20;  // of all of them; those that do not fit are left out
};

struct BundleSummary {
    std::uint64_t capture_bytes = 0;
    std::uint64_t evidence_bytes = 0;
    std::size_t addresses = 0;
    std::size_t named = 0;
    std::size_t with_lines = 0;
    std::size_t functions_with_code = 0;
    std::uint64_t functions_without_code = 0;
    std::vector<std::string> warnings;  // of the capture and its names
};

// `capture`: a file ("-": standard input), also gzip, also a bundle, which keeps what it holds. `output` appears whole
// or not at all. The error says what is not a capture, or what could not be written.
[[nodiscard]] Result<BundleSummary> write_bundle(const std::string& capture, const std::string& output,
                                                 const BundleOptions& options, const Clock& clock);

}  // namespace perfvigil::analyzer
