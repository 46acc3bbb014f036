// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/evidence_names.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "analyzer/symbols/kernel_dso.hpp"

namespace perfvigil::analyzer {
namespace {

// What one string is worth in a bundle may be many in memory, and a bundle may be anybody's.
constexpr std::size_t kMostFrameBytes = 512U << 20;

}  // namespace

EvidenceNames::EvidenceNames(std::shared_ptr<const Evidence> evidence) : evidence_(std::move(evidence)) {
    for (const auto& dso : evidence_->dsos) dsos_.emplace(evidence_key(*evidence_, dso), &dso);
}

const EvidenceNames::Known& EvidenceNames::known(const collector::DsoRef& dso) {
    const auto [at, added] = known_.try_emplace(dso->id);
    if (added) {
        at->second.dso = dso;
        const auto found = dsos_.find(evidence_key(*dso));
        if (found != dsos_.end()) at->second.evidence = found->second;
    }
    return at->second;
}

const EvidenceDso::Address* EvidenceNames::find(const EvidenceDso* dso, std::uint64_t offset) {
    if (dso == nullptr) return nullptr;
    const auto at = std::ranges::lower_bound(dso->addresses, offset, {}, &EvidenceDso::Address::offset);
    return at == dso->addresses.end() || at->offset != offset ? nullptr : &*at;
}

Symbol EvidenceNames::resolve(const collector::DsoRef& dso, std::uint64_t offset) {
    const Known& asked = known(dso);
    const auto* address = find(asked.evidence, offset);
    if (address == nullptr) {
        return {.name = {}, .dso = asked.dso->path, .start = 0, .size = 0, .reason = UnknownReason::kNoFile};
    }
    const EvidenceSymbol& symbol = evidence_->symbols[address->symbol];
    return {.name = evidence_->strings[symbol.name],
            .dso = evidence_->strings[symbol.dso],
            .start = symbol.start,
            .size = symbol.size,
            .reason = symbol.reason};
}

FileFacts EvidenceNames::describe(const collector::DsoRef& dso) {
    FileFacts facts{.build_id = dso->build_id};
    const EvidenceDso* evidence = known(dso).evidence;
    if (evidence == nullptr) return facts;
    if (!evidence->file_build_id.empty()) facts.build_id = evidence->file_build_id;
    const auto text = [&](std::uint32_t number) {
        return number == 0 ? std::string() : evidence_->strings[number - 1];
    };
    facts.package = text(evidence->package);
    facts.package_version = text(evidence->package_version);
    return facts;
}

std::optional<UnwoundChain> EvidenceNames::chain_of(const collector::SampleRecord& sample,
                                                    const collector::Process& /*process*/) {
    if (evidence_->unwound.empty()) return std::nullopt;
    const std::uint64_t key = unwound_key(sample);
    const auto at = std::ranges::lower_bound(evidence_->unwound, key, {}, &EvidenceUnwound::sample);
    if (at == evidence_->unwound.end() || at->sample != key) return std::nullopt;
    const auto& stack = evidence_->stacks[at->stack];
    return UnwoundChain{.chain = {std::as_bytes(std::span(stack)), Endian::kNative},
                        .flags = static_cast<std::uint8_t>(at->flags)};
}

std::vector<JitCode> EvidenceNames::jit_code(const collector::DsoRef& marker) {
    const EvidenceDso* dso = known(marker).evidence;
    std::vector<JitCode> codes;
    for (const auto& placement : evidence_->placements) {
        if (&evidence_->dsos[placement.dso] == dso) codes.push_back(placement.code);
    }
    std::ranges::stable_sort(codes, {}, &JitCode::time);
    return codes;
}

std::vector<collector::KernelTextRange> EvidenceNames::kernel_text() {
    std::vector<collector::KernelTextRange> ranges;
    for (const auto& text : evidence_->kernel_text) {
        ranges.push_back({.start = text.start,
                          .end = text.start + text.size,
                          .text_class = static_cast<std::uint8_t>(text.text_class)});
    }
    return ranges;
}

bool EvidenceNames::in_module(const EvidenceDso& dso, const EvidenceDso::Address& address) const {
    if (dso.kind != collector::DsoKind::kKernel) return false;
    return evidence_->strings[evidence_->symbols[address.symbol].dso] != kKernelDso;
}

CodeFrames EvidenceNames::frames_of(const std::vector<SampledCode>& codes, DebugScope scope) {
    const bool with_modules = scope == DebugScope::kEverything;
    CodeFrames made;
    made.sentences = evidence_->line_sentences;
    if (with_modules) made.module_sentences = evidence_->module_line_sentences;
    std::size_t bytes = 0;
    for (const auto& code : codes) {
        auto& frames = made.frames.emplace_back();
        const EvidenceDso* dso = known(code.dso).evidence;
        const auto* address = find(dso, code.offset);
        if (address == nullptr || address->chain == 0 || bytes > kMostFrameBytes) continue;
        if (!with_modules && in_module(*dso, *address)) continue;
        for (const auto& frame : evidence_->chains[address->chain - 1]) {
            frames.push_back({.function = evidence_->strings[frame.function],
                              .file = evidence_->strings[frame.file],
                              .line = frame.line});
            bytes += sizeof(InlinedFrame) + frames.back().function.size() + frames.back().file.size();
        }
    }
    if (bytes > kMostFrameBytes) made.sentences.emplace_back("The bundle's inlined calls are more than fit in memory.");
    return made;
}

const EvidenceCode* EvidenceNames::code_of(const CountedFunction& function) {
    const EvidenceDso* dso = known(function.dso).evidence;
    const auto found = std::ranges::find_if(evidence_->codes, [&](const EvidenceCode& code) {
        return &evidence_->dsos[code.dso] == dso && code.start == function.start;
    });
    return found == evidence_->codes.end() ? nullptr : &*found;
}

void EvidenceNames::find_code(FunctionCode& made) {
    const EvidenceCode* found = code_of(made.function);
    if (found == nullptr) {
        made.notes.push_back(fmt::format("Its code is not in the bundle, which keeps that of the {} hottest functions.",
                                         evidence_->codes.size()));
        return;
    }
    made.code.resize(found->code.size());
    std::ranges::transform(found->code, made.code.begin(), [](char byte) { return static_cast<std::byte>(byte); });
    made.machine = static_cast<std::uint16_t>(found->machine);
    made.big_endian = found->big_endian;
    made.wide = found->wide;
    made.shift = found->shift;
    made.notes = found->notes;
    if (!found->has_lines) return;
    std::size_t longest = 0;
    for (const auto& line : found->lines) longest = std::max(longest, evidence_->strings[line.file].size());
    if (longest * found->code.size() > kMostFrameBytes) {
        made.notes.emplace_back("The bundle's source lines of it are more than fit in memory.");
    } else {
        made.lines = lines_of(*found);
    }
}

SourceLines EvidenceNames::lines_of(const EvidenceCode& code) const {
    std::vector<std::pair<LinkAddress, SourceLine>> lines;
    for (std::size_t i = 0; i < code.lines.size(); ++i) {
        const auto& run = code.lines[i];
        const std::uint64_t end = i + 1 < code.lines.size() ? code.lines[i + 1].offset : code.code.size();
        for (std::uint64_t at = run.offset; at < end && run.line != 0; ++at) {
            lines.emplace_back(LinkAddress{code.start + code.shift + at},
                               SourceLine{.file = evidence_->strings[run.file], .line = run.line});
        }
    }
    return SourceLines::from_rows(lines);
}

}  // namespace perfvigil::analyzer
