// SPDX-License-Identifier: GPL-2.0-or-later
// What debug information says of sampled instructions: which calls were inlined there, and the source lines. Found file
// by file, one question each; kernel modules only where they are asked for.
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
    std::vector<std::string> sentences;         // of files whose debug information is there, but not of use
    std::vector<std::string> module_sentences;  // of kernel modules: what is missing
};

// A file without debug information is asked once, and costs no more. The kernel's own is that of its image (vmlinux),
// of captures alone. Code without a file has none.
[[nodiscard]] CodeFrames code_frames(const std::vector<SampledCode>& codes, DebugScope scope, HostNames& names);

}  // namespace perfvigil::analyzer
