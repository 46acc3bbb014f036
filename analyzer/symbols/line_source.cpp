// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/line_source.hpp"

namespace perfvigil::analyzer {

Result<SourceLines> source_lines_of(HostNames& names, const OpenedFile& file,
                                    const std::vector<LinkAddress>& addresses) {
    auto lines = names.child().lines(file.fd.get(), addresses);
    if (!lines || lines->has_debug_info() || file.build_id.empty()) return lines;
    const auto debug = names.symbolizer().debug_file_of(file.build_id);
    if (debug == nullptr) return lines;
    return names.child().lines(debug->fd.get(), addresses);
}

}  // namespace perfvigil::analyzer
