// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/line_source.hpp"

namespace perfvigil::analyzer {
namespace {

Result<InlinedFrames> with_alt(HostNames& names, int file, const std::vector<LinkAddress>& addresses) {
    auto frames = names.child().inlined(file, addresses);
    if (!frames || !frames->lacks_alt()) return frames;
    const auto alt = names.symbolizer().debug_file_of(frames->alt());
    if (alt == nullptr) return frames;
    return names.child().inlined(file, addresses, alt->fd.get());
}

}  // namespace

Result<SourceLines> source_lines_of(HostNames& names, const OpenedFile& file,
                                    const std::vector<LinkAddress>& addresses) {
    auto lines = names.child().lines(file.fd.get(), addresses);
    if (!lines || lines->has_debug_info() || file.build_id.empty()) return lines;
    const auto debug = names.symbolizer().debug_file_of(file.build_id);
    if (debug == nullptr) return lines;
    return names.child().lines(debug->fd.get(), addresses);
}

Result<InlinedFrames> inlined_frames_of(HostNames& names, const OpenedFile& file,
                                        const std::vector<LinkAddress>& addresses) {
    auto frames = with_alt(names, file.fd.get(), addresses);
    if (!frames || frames->has_debug_info() || file.build_id.empty()) return frames;
    const auto debug = names.symbolizer().debug_file_of(file.build_id);
    if (debug == nullptr) return frames;
    return with_alt(names, debug->fd.get(), addresses);
}

}  // namespace perfvigil::analyzer
