// SPDX-License-Identifier: GPL-2.0-or-later
// What debug information says of sampled instructions: which calls were inlined there, and the source lines. Found file
// by file, one question each.
#pragma once

#include <string>
#include <vector>

#include "analyzer/sampled_codes.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/symbols/inlined_frames.hpp"

namespace perfvigil::analyzer {

struct CodeFrames {
    // As the codes: the functions there, innermost first; the last one is that which symbols name. Empty: nothing is
    // known.
    std::vector<std::vector<InlinedFrame>> frames;
    std::vector<std::string> sentences;  // of files whose debug information is there, but not of use
};

// A file without debug information is asked once, and costs no more. Kernel code and code without a file have none.
[[nodiscard]] CodeFrames code_frames(const std::vector<SampledCode>& codes, HostNames& names);

}  // namespace perfvigil::analyzer
