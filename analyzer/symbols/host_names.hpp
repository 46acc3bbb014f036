// SPDX-License-Identifier: GPL-2.0-or-later
// Everything that gives names on this host, joined for programs of one thread: opener, symbol child, symbolizer.
// (The daemon joins the same with an opener of its own thread.)
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/slice/kernel_text.hpp"
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
    // Of a capture, wherever it was made. What the reader knows of its host counts as of now: not before the records
    // that stand in front of the first sample were read (CaptureNames waits for that).
    HostNames(const Clock& clock, const collector::CaptureReader& capture, const SymbolSources& sources);

    [[nodiscard]] HostSymbolizer& symbolizer() { return symbolizer_; }
    [[nodiscard]] collector::DsoListener& listener() { return opener_; }
    [[nodiscard]] SymbolChild& child() { return child_; }

private:
    SymbolChild child_;
    FileOpener opener_;
    HostSymbolizer symbolizer_;
};

// HostNames of a capture, made at the first question.
class CaptureNames final : public Symbolizer {
public:
    CaptureNames(const Clock& clock, const collector::CaptureReader& capture, SymbolSources sources)
        : clock_(clock), capture_(capture), sources_(std::move(sources)) {}

    [[nodiscard]] Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) override {
        return names().symbolizer().resolve(dso, offset);
    }
    [[nodiscard]] std::vector<Symbol> resolve_all(std::span<const CodePlace> places) override {
        return names().symbolizer().resolve_all(places);
    }
    [[nodiscard]] FileFacts describe(const collector::DsoRef& dso) override {
        return names().symbolizer().describe(dso);
    }
    void begin_window() override { names().symbolizer().begin_window(); }
    void begin_slice(MonotonicTime from, MonotonicTime to) override { names().symbolizer().begin_slice(from, to); }
    [[nodiscard]] HostNames& names() {
        if (!names_) names_.emplace(clock_, capture_, sources_);
        return *names_;
    }

private:
    const Clock& clock_;
    const collector::CaptureReader& capture_;
    SymbolSources sources_;
    std::optional<HostNames> names_;
};

// The classes of the running kernel's text; empty where its symbols are hidden.
[[nodiscard]] std::vector<collector::KernelTextRange> kernel_text_ranges(const KernelSymbols* symbols);

// The classes of a capture's kernel text: what the capture says itself, else by the names that its kernel has (of the
// very same kernel here, or of a copy of its symbols, moved by how far the two boots differ); else empty.
[[nodiscard]] std::vector<collector::KernelTextRange> capture_text_ranges(const collector::HostFacts& capture,
                                                                          KernelNames& names);

}  // namespace perfvigil::analyzer
