// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/capture_unwinding.hpp"

#include <fmt/format.h>

namespace perfvigil::analyzer {

std::optional<UnwoundChain> CaptureUnwinding::chain_of(const collector::SampleRecord& sample,
                                                       const collector::Process& process) {
    if (!unwinder_) {
        const std::string& architecture = capture_.host().architecture;
        tables_.emplace(names_.names());
        unwinder_.emplace(*tables_, architecture.empty() ? std::nullopt : std::optional(unwind_machine(architecture)));
    }
    return unwinder_->chain_of(sample, process);
}

std::vector<std::string> CaptureUnwinding::sentences() const {
    return unwinder_ ? unwinding_sentences(*tables_, unwinder_->counters()) : std::vector<std::string>{};
}

std::vector<std::string> unwinding_sentences(const UnwindTables& tables, const UnwindCounters& counters) {
    auto sentences = tables.sentences();
    const auto share = [&](std::uint64_t samples) {
        return fmt::format("{:.1f} %", 100.0 * static_cast<double>(samples) / static_cast<double>(counters.samples));
    };
    // A few always end in deep recursion or in the middle of a prologue.
    constexpr std::uint64_t kWorthAWord = 100;  // one in so many
    if (counters.copy_ends * kWorthAWord > counters.samples) {
        sentences.push_back(
            fmt::format("{} of the unwound stacks are deeper than the copy that was recorded; their "
                        "outermost callers are missing. Record more of the stack: --call-graph "
                        "dwarf,32768.",
                        share(counters.copy_ends)));
    }
    if (counters.unsupported > 0) {
        sentences.push_back(
            fmt::format("{} samples hold stacks that cannot be unwound here (32-bit programs, another "
                        "byte order, or another machine than x86-64 and arm64); their callers are "
                        "missing.",
                        counters.unsupported));
    }
    return sentences;
}

}  // namespace perfvigil::analyzer
