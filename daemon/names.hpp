// SPDX-License-Identifier: GPL-2.0-or-later
// Everything that gives names to addresses, joined for the daemon: files are opened on a thread of their own, parsed in
// a child, and asked for by the analyst.
#pragma once

#include <memory>

#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/host_symbolizer.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "daemon/opener_thread.hpp"
#include "daemon/source.hpp"
#include "daemon/spsc_queue.hpp"

namespace perfvigil::daemon {

struct Names {
    Names(const RunSource& source, const analyzer::DebuginfodOptions& debuginfod, const Clock& clock);

    // Any thread: nothing is waited for from now on, what has no name yet stays without.
    void hurry() { cancel.raise(); }

    WakeEvent cancel;
    analyzer::SymbolChild child;
    OpenerThread opener;                 // of what runs here
    analyzer::FileOpener capture_files;  // of a replayed capture, on the analyst's own time
    analyzer::HostSymbolizer symbolizer;

private:
    [[nodiscard]] analyzer::FileSource& files_of(const RunSource& source);
};

// The classes of the kernel's text: of this host, or of the replayed capture.
[[nodiscard]] std::vector<collector::KernelTextRange> text_ranges_of(const RunSource& source, Names& names);

}  // namespace perfvigil::daemon
