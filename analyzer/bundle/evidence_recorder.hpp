// SPDX-License-Identifier: GPL-2.0-or-later
// Passes a capture's questions on to another source of names, and keeps the answers as evidence.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/bundle/evidence.hpp"
#include "analyzer/function_code.hpp"
#include "analyzer/name_source.hpp"

namespace perfvigil::analyzer {

class EvidenceRecorder final : public NameSource, private UserChains {
public:
    explicit EvidenceRecorder(NameSource& source) : source_(source) {}

    [[nodiscard]] Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) override;
    [[nodiscard]] std::vector<Symbol> resolve_all(std::span<const CodePlace> places) override;
    [[nodiscard]] FileFacts describe(const collector::DsoRef& dso) override;
    void begin_window() override { source_.begin_window(); }
    void begin_slice(MonotonicTime from, MonotonicTime to) override { source_.begin_slice(from, to); }
    [[nodiscard]] std::vector<collector::KernelTextRange> kernel_text() override;
    [[nodiscard]] CodeFrames frames_of(const std::vector<SampledCode>& codes, DebugScope scope) override;
    [[nodiscard]] UserChains& user_chains() override { return *this; }
    [[nodiscard]] std::vector<JitCode> jit_code(const collector::DsoRef& marker) override;
    [[nodiscard]] Result<void> usable() override { return source_.usable(); }
    [[nodiscard]] std::vector<std::string> refusals() override { return source_.refusals(); }
    [[nodiscard]] std::vector<collector::Degraded> degraded() override { return source_.degraded(); }
    [[nodiscard]] std::vector<std::string> unwinding() override { return source_.unwinding(); }
    [[nodiscard]] std::vector<std::string> notes() override { return source_.notes(); }

    void add_code(const FunctionCode& code);
    // Everything so far; the recorder is empty again.
    [[nodiscard]] Evidence take();

private:
    struct Answer {
        std::uint32_t symbol = 0;
        std::uint32_t chain = 0;
    };
    struct AnsweredDso {
        EvidenceDso dso;
        std::map<std::uint64_t, Answer> answers;
    };
    [[nodiscard]] std::optional<UnwoundChain> chain_of(const collector::SampleRecord& sample,
                                                       const collector::Process& process) override;
    void take_placements();
    [[nodiscard]] AnsweredDso& dso_of(const collector::DsoRef& dso);
    [[nodiscard]] std::size_t number_of(const collector::DsoRef& dso);
    [[nodiscard]] std::uint32_t string_number(std::string_view text);
    [[nodiscard]] std::uint32_t symbol_number(const Symbol& symbol);
    [[nodiscard]] std::uint32_t chain_number(const std::vector<InlinedFrame>& frames);

    NameSource& source_;
    Evidence evidence_;
    std::vector<AnsweredDso> dsos_;
    boost::unordered_flat_map<collector::DsoId, std::size_t> dso_numbers_;
    std::map<std::string, std::size_t> dsos_by_key_;
    std::map<std::string, std::uint32_t, std::less<>> strings_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t, UnknownReason>, std::uint32_t>
        symbols_;
    std::map<std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>, std::uint32_t> chains_;
    std::map<EvidenceStack, std::uint32_t> stacks_;
    std::map<std::uint64_t, EvidenceUnwound> unwound_;  // by sample
    std::vector<EvidencePlacement> placements_;         // sampled or not
};

}  // namespace perfvigil::analyzer
