// SPDX-License-Identifier: GPL-2.0-or-later
// Everything that gives names on this host, joined for programs of one thread: opener, symbol child, symbolizer.
// (The daemon joins the same with an opener of its own thread.)
#pragma once

#include <vector>

#include "analyzer/kernel_text.hpp"
#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/host_symbolizer.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/time.hpp"
#include "collector/capture_reader.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

class HostNames {
public:
    // Of what runs here now.
    explicit HostNames(const Clock& clock);
    // Of a capture, wherever it was made.
    HostNames(const Clock& clock, const collector::CaptureReader& capture);

    [[nodiscard]] HostSymbolizer& symbolizer() { return symbolizer_; }
    [[nodiscard]] collector::DsoListener& listener() { return opener_; }

private:
    SymbolChild child_;
    FileOpener opener_;
    HostSymbolizer symbolizer_;
};

// The classes of the running kernel's text; empty where its symbols are hidden.
[[nodiscard]] std::vector<collector::KernelTextRange> kernel_text_ranges(const KernelSymbols* symbols);

// The classes of a capture's kernel text: what the capture says itself, else, where the very same kernel runs here, the
// running kernel's moved by how far the two boots differ; else empty.
[[nodiscard]] std::vector<collector::KernelTextRange> capture_text_ranges(const collector::HostFacts& capture,
                                                                          const ThisHost& host,
                                                                          const KernelSymbols* symbols);

}  // namespace perfvigil::analyzer
