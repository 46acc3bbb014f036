// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/load.hpp"

#include "analyzer/capture_analysis.hpp"
#include "base/text.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

Result<Profile> load_profile(const std::string& path, const LoadOptions& options, const Clock& clock) {
    auto reader = collector::CaptureReader::open(path);
    if (!reader) return fail(std::move(reader.error()));
    const CaptureOptions capture{
        .samples = options.samples, .symbols = options.symbols, .split_hybrid = options.split_hybrid};
    return analyze_capture(**reader, std::string(base_name(path)), capture, clock);
}

}  // namespace perfvigil::analyzer
