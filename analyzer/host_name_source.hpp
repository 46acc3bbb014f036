// SPDX-License-Identifier: GPL-2.0-or-later
// Names for a capture from the files of this host and of SymbolSources.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/name_source.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/unwind/capture_unwinding.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

class HostNameSource final : public NameSource {
public:
    // Both outlive this.
    HostNameSource(CaptureNames& names, const collector::CaptureReader& reader)
        : names_(names), reader_(reader), unwinding_(names, reader) {}

    [[nodiscard]] Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) override {
        return names_.resolve(dso, offset);
    }
    [[nodiscard]] std::vector<Symbol> resolve_all(std::span<const CodePlace> places) override {
        return names_.resolve_all(places);
    }
    [[nodiscard]] FileFacts describe(const collector::DsoRef& dso) override { return names_.describe(dso); }
    void begin_window() override { names_.begin_window(); }
    void begin_slice(MonotonicTime from, MonotonicTime to) override { names_.begin_slice(from, to); }
    [[nodiscard]] std::vector<collector::KernelTextRange> kernel_text() override;
    [[nodiscard]] CodeFrames frames_of(const std::vector<SampledCode>& codes, DebugScope scope) override;
    [[nodiscard]] UserChains& user_chains() override { return unwinding_; }
    [[nodiscard]] std::vector<JitCode> jit_code(const collector::DsoRef& marker) override;
    [[nodiscard]] Result<void> usable() override;
    [[nodiscard]] std::vector<std::string> refusals() override;
    [[nodiscard]] std::vector<collector::Degraded> degraded() override;
    [[nodiscard]] std::vector<std::string> unwinding() override { return unwinding_.sentences(); }
    [[nodiscard]] std::vector<std::string> notes() override;

private:
    CaptureNames& names_;
    const collector::CaptureReader& reader_;
    CaptureUnwinding unwinding_;
};

}  // namespace perfvigil::analyzer
