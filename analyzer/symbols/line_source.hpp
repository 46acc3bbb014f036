// SPDX-License-Identifier: GPL-2.0-or-later
// Source lines and inlined calls for the code of one file: from its own debug information, else from that of its
// separate debug file; what that one shares with others (dwz) is looked for by its build-id.
#pragma once

#include <vector>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/symbols/inlined_frames.hpp"
#include "analyzer/symbols/source_lines.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

// Without debug information anywhere the answer says so (SourceLines::has_debug_info). Errors: SymbolChild::lines.
[[nodiscard]] Result<SourceLines> source_lines_of(HostNames& names, const OpenedFile& file,
                                                  const std::vector<LinkAddress>& addresses);

// The same with the calls that were inlined there.
[[nodiscard]] Result<InlinedFrames> inlined_frames_of(HostNames& names, const OpenedFile& file,
                                                      const std::vector<LinkAddress>& addresses);

}  // namespace perfvigil::analyzer
