// SPDX-License-Identifier: GPL-2.0-or-later
// Unwinding for a capture, with the tables that this host can rightly give. Made at the first sample that asks, for
// where its files may come from is known no earlier (CaptureNames).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/host_names.hpp"
#include "analyzer/unwind/stack_unwinder.hpp"
#include "analyzer/unwind/unwind_tables.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

class CaptureUnwinding final : public UserChains {
public:
    CaptureUnwinding(CaptureNames& names, const collector::CaptureReader& capture) : names_(names), capture_(capture) {}

    [[nodiscard]] std::optional<UnwoundChain> chain_of(const collector::SampleRecord& sample,
                                                       const collector::Process& process) override;
    // What was guessed, cut short or not understood, for the profile's warnings.
    [[nodiscard]] std::vector<std::string> sentences() const;

private:
    CaptureNames& names_;
    const collector::CaptureReader& capture_;
    std::optional<UnwindTables> tables_;
    std::optional<StackUnwinder> unwinder_;
};

// What such tables and counters say; for recordings that are unwound as they go on, too.
[[nodiscard]] std::vector<std::string> unwinding_sentences(const UnwindTables& tables, const UnwindCounters& counters);

}  // namespace perfvigil::analyzer
