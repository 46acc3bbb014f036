// SPDX-License-Identifier: GPL-2.0-or-later
// Names for a capture from the evidence that was bundled with it: on any machine what the recording host said. Touches
// no file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/bundle/evidence.hpp"
#include "analyzer/function_code.hpp"
#include "analyzer/name_source.hpp"

namespace perfvigil::analyzer {

class EvidenceNames final : public NameSource, private UserChains {
public:
    explicit EvidenceNames(std::shared_ptr<const Evidence> evidence);

    [[nodiscard]] Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) override;
    [[nodiscard]] FileFacts describe(const collector::DsoRef& dso) override;
    [[nodiscard]] std::vector<collector::KernelTextRange> kernel_text() override;
    [[nodiscard]] CodeFrames frames_of(const std::vector<SampledCode>& codes, DebugScope scope) override;
    [[nodiscard]] UserChains& user_chains() override { return *this; }
    [[nodiscard]] std::vector<JitCode> jit_code(const collector::DsoRef& marker) override;
    [[nodiscard]] Result<void> usable() override { return {}; }
    [[nodiscard]] std::vector<std::string> refusals() override { return evidence_->refusals; }
    [[nodiscard]] std::vector<collector::Degraded> degraded() override { return evidence_->degraded; }
    [[nodiscard]] std::vector<std::string> unwinding() override { return evidence_->unwinding; }
    [[nodiscard]] std::vector<std::string> notes() override { return evidence_->notes; }

    [[nodiscard]] bool has_code(const CountedFunction& function) { return code_of(function) != nullptr; }
    // Fills in code, lines and notes; a note says where the code is not in the bundle.
    void find_code(FunctionCode& made);

private:
    struct Known {
        collector::DsoRef dso;  // views of its path are handed out
        const EvidenceDso* evidence = nullptr;
    };
    [[nodiscard]] std::optional<UnwoundChain> chain_of(const collector::SampleRecord& sample,
                                                       const collector::Process& process) override;
    [[nodiscard]] const Known& known(const collector::DsoRef& dso);
    [[nodiscard]] static const EvidenceDso::Address* find(const EvidenceDso* dso, std::uint64_t offset);
    [[nodiscard]] bool in_module(const EvidenceDso& dso, const EvidenceDso::Address& address) const;
    [[nodiscard]] const EvidenceCode* code_of(const CountedFunction& function);
    [[nodiscard]] SourceLines lines_of(const EvidenceCode& code) const;

    std::shared_ptr<const Evidence> evidence_;
    boost::unordered_flat_map<std::string, const EvidenceDso*> dsos_;  // by evidence_key
    boost::unordered_flat_map<collector::DsoId, Known> known_;
};

}  // namespace perfvigil::analyzer
