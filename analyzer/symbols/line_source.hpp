// SPDX-License-Identifier: GPL-2.0-or-later
// Source lines for the code of one file: from its own line tables, else from those of its separate debug file.
#pragma once

#include <vector>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/symbols/source_lines.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

// Without debug information anywhere the answer says so (SourceLines::has_debug_info). Errors: SymbolChild::lines.
[[nodiscard]] Result<SourceLines> source_lines_of(HostNames& names, const OpenedFile& file,
                                                  const std::vector<LinkAddress>& addresses);

}  // namespace perfvigil::analyzer
