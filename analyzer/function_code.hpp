// SPDX-License-Identifier: GPL-2.0-or-later
// The sampled functions of one name in a capture, each with its machine code and source lines where they are to be had:
// what `perfvigil annotate` shows. The code comes from the file with the recorded build-id; of the kernel from the
// vmlinux that was given, else from /proc/kcore in the boot that was recorded, else from a vmlinux that was found or
// the module's own file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/address_counts.hpp"
#include "analyzer/capture_analysis.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/symbols/source_lines.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

struct CodeRequest {
    std::string symbol;  // as reports show it
    std::string dso;     // path or last part of it; empty: any
    std::string event;   // empty: the first one with samples
};

struct FunctionCode {
    CountedFunction function;
    std::vector<std::byte> code;  // of the whole function; empty: `notes` say why
    std::uint16_t machine = 0;    // ELF's e_machine
    bool big_endian = false;
    bool wide = true;
    std::uint64_t shift = 0;  // from the Dso's terms to the addresses that the code was linked to
    std::optional<SourceLines> lines;
    std::vector<std::string> notes;  // sentences
};

struct FunctionCodes {
    std::vector<FunctionCode> functions;  // most samples first; empty: nothing of that name was sampled
    std::string event;
    Profile profile;  // of the whole capture
};

// Fills in code, lines and notes of `made`, whose functions are known. The debug information of a file is read once,
// for all its functions together.
void find_codes(std::vector<FunctionCode>& made, CaptureAnalysis& analysis, const collector::HostFacts& host,
                const SymbolSources& sources, const Clock& clock);

[[nodiscard]] Result<FunctionCodes> function_codes(collector::CaptureReader& reader, const CodeRequest& request,
                                                   const CaptureOptions& options, const Clock& clock);

}  // namespace perfvigil::analyzer
