// SPDX-License-Identifier: GPL-2.0-or-later
// What gives one capture its names, lines, inlined calls and the chains of copied stacks: files of this host and of
// where the caller points (HostNameSource), or what a bundle holds (EvidenceNames).
#pragma once

#include <string>
#include <vector>

#include "analyzer/code_frames.hpp"
#include "analyzer/jit_code.hpp"
#include "analyzer/sampled_codes.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "analyzer/unwind/user_chains.hpp"
#include "base/error.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

class NameSource : public Symbolizer {
public:
    // Asked once, after the records in front of the first sample.
    [[nodiscard]] virtual std::vector<collector::KernelTextRange> kernel_text() = 0;
    [[nodiscard]] virtual CodeFrames frames_of(const std::vector<SampledCode>& codes, DebugScope scope) = 0;
    // Call chains of samples that hold a copy of their stack.
    [[nodiscard]] virtual UserChains& user_chains() = 0;
    // What the jitdump that `marker` announces says, in order of time; empty: it is not to be had. Asked once for each.
    [[nodiscard]] virtual std::vector<JitCode> jit_code(const collector::DsoRef& marker) = 0;
    // After the last sample: an error where something that the caller gave was of no use.
    [[nodiscard]] virtual Result<void> usable() = 0;
    // What names had to do without, after the last sample.
    [[nodiscard]] virtual std::vector<std::string> refusals() = 0;
    [[nodiscard]] virtual std::vector<collector::Degraded> degraded() = 0;
    // What was guessed, cut short or not understood in unwound chains, after the last sample.
    [[nodiscard]] virtual std::vector<std::string> unwinding() = 0;
    // Where names came from, as far as that has to be known.
    [[nodiscard]] virtual std::vector<std::string> notes() = 0;
};

}  // namespace perfvigil::analyzer
