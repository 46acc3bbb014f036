// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/names.hpp"

#include "analyzer/symbols/host_names.hpp"

namespace perfvigil::daemon {
namespace {

analyzer::Origin origin_of(const RunSource& source) {
    return source.capture == nullptr ? analyzer::Origin::kLive : analyzer::Origin::kCapture;
}

analyzer::HostSymbolizerOptions symbolizer_options(const RunSource& source,
                                                   const analyzer::DebuginfodOptions& debuginfod) {
    analyzer::HostSymbolizerOptions options;
    options.sources.debuginfod = debuginfod;
    options.origin = origin_of(source);
    if (source.capture != nullptr) {
        options.capture_host = source.host;
        options.build_ids = source.capture->build_ids();
    }
    return options;
}

analyzer::SymbolChildOptions child_options(const WakeEvent& cancel) {
    analyzer::SymbolChildOptions options;
    options.cancel_fd = cancel.fd();
    return options;
}

}  // namespace

Names::Names(const RunSource& source, const analyzer::DebuginfodOptions& debuginfod, const Clock& clock)
    : child(child_options(cancel), clock),
      opener({}, clock),
      capture_files(analyzer::Origin::kCapture, {}, analyzer::opened_files_limits(), clock),
      symbolizer(symbolizer_options(source, debuginfod), files_of(source), child, clock) {}

// The processes of a capture are not those that live here under their numbers.
analyzer::FileSource& Names::files_of(const RunSource& source) {
    if (source.capture != nullptr) return capture_files;
    return opener;
}

std::vector<collector::KernelTextRange> text_ranges_of(const RunSource& source, Names& names) {
    if (source.capture == nullptr) return analyzer::kernel_text_ranges(names.symbolizer.kernel_symbols());
    return analyzer::capture_text_ranges(source.host, names.symbolizer.kernel());
}

}  // namespace perfvigil::daemon
