// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/evidence_recorder.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

Symbol EvidenceRecorder::resolve(const collector::DsoRef& dso, std::uint64_t offset) {
    const Symbol symbol = source_.resolve(dso, offset);
    // The last answer counts: a file that could not be read at once may be read later.
    dso_of(dso).answers[offset].symbol = symbol_number(symbol);
    return symbol;
}

std::vector<Symbol> EvidenceRecorder::resolve_all(std::span<const CodePlace> places) {
    auto symbols = source_.resolve_all(places);
    for (std::size_t i = 0; i < places.size(); ++i) {
        dso_of(*places[i].dso).answers[places[i].offset].symbol = symbol_number(symbols[i]);
    }
    return symbols;
}

FileFacts EvidenceRecorder::describe(const collector::DsoRef& dso) {
    auto facts = source_.describe(dso);
    const auto number_or_none = [&](const std::string& text) { return text.empty() ? 0 : string_number(text) + 1; };
    EvidenceDso& kept = dso_of(dso).dso;
    kept.file_build_id = facts.build_id;
    kept.package = number_or_none(facts.package);
    kept.package_version = number_or_none(facts.package_version);
    return facts;
}

std::vector<collector::KernelTextRange> EvidenceRecorder::kernel_text() {
    auto ranges = source_.kernel_text();
    evidence_.kernel_text.clear();
    for (const auto& range : ranges) {
        evidence_.kernel_text.push_back(
            {.start = range.start, .size = range.end - range.start, .text_class = range.text_class});
    }
    return ranges;
}

CodeFrames EvidenceRecorder::frames_of(const std::vector<SampledCode>& codes, DebugScope scope) {
    auto found = source_.frames_of(codes, scope);
    for (std::size_t i = 0; i < codes.size(); ++i) {
        auto& answers = dso_of(codes[i].dso).answers;
        const auto at = answers.find(codes[i].offset);
        if (at != answers.end()) at->second.chain = chain_number(found.frames[i]);
    }
    evidence_.line_sentences = found.sentences;
    evidence_.module_line_sentences = found.module_sentences;
    return found;
}

std::optional<UnwoundChain> EvidenceRecorder::chain_of(const collector::SampleRecord& sample,
                                                       const collector::Process& process) {
    const auto unwound = source_.user_chains().chain_of(sample, process);
    if (!unwound) return unwound;
    EvidenceStack stack(unwound->chain.size());
    for (std::size_t i = 0; i < stack.size(); ++i) stack[i] = unwound->chain[i];
    const auto [at, added] = stacks_.try_emplace(std::move(stack), static_cast<std::uint32_t>(stacks_.size()));
    if (added) evidence_.stacks.push_back(at->first);
    const std::uint64_t key = unwound_key(sample);
    unwound_[key] = {.sample = key, .stack = at->second, .flags = unwound->flags};
    return unwound;
}

std::vector<JitCode> EvidenceRecorder::jit_code(const collector::DsoRef& marker) {
    auto codes = source_.jit_code(marker);
    const auto dso = static_cast<std::uint32_t>(number_of(marker));
    const bool known = std::ranges::any_of(placements_, [&](const auto& placement) { return placement.dso == dso; });
    for (std::size_t i = 0; i < codes.size() && !known; ++i) placements_.push_back({.dso = dso, .code = codes[i]});
    return codes;
}

// Those of code that was sampled: what else lay there tells nothing.
void EvidenceRecorder::take_placements() {
    for (const auto& placement : placements_) {
        const auto& answers = dsos_[placement.dso].answers;
        const auto first = answers.lower_bound(placement.code.code);
        if (first != answers.end() && first->first - placement.code.code < placement.code.size) {
            evidence_.placements.push_back(placement);
        }
    }
}

void EvidenceRecorder::add_code(const FunctionCode& code) {
    EvidenceCode kept{.dso = static_cast<std::uint32_t>(number_of(code.function.dso)),
                      .start = code.function.start,
                      .shift = code.shift,
                      .machine = code.machine,
                      .big_endian = code.big_endian,
                      .wide = code.wide,
                      .code = std::string(reinterpret_cast<const char*>(code.code.data()), code.code.size()),
                      .has_lines = code.lines.has_value(),
                      .lines = {},
                      .notes = code.notes};
    for (std::size_t at = 0; code.lines && at < code.code.size(); ++at) {
        const auto line = code.lines->find(LinkAddress{code.function.start + code.shift + at});
        const EvidenceCode::Line run{
            .offset = at, .file = string_number(line ? line->file : ""), .line = line ? line->line : 0};
        const bool same =
            !kept.lines.empty() && kept.lines.back().file == run.file && kept.lines.back().line == run.line;
        if (!same) kept.lines.push_back(run);
    }
    evidence_.codes.push_back(std::move(kept));
}

Evidence EvidenceRecorder::take() {
    take_placements();
    for (const auto& [key, row] : unwound_) evidence_.unwound.push_back(row);
    evidence_.unwinding = source_.unwinding();
    for (auto& answered : dsos_) {
        for (const auto& [offset, answer] : answered.answers) {
            answered.dso.addresses.push_back({.offset = offset, .symbol = answer.symbol, .chain = answer.chain});
        }
        evidence_.dsos.push_back(std::move(answered.dso));
    }
    evidence_.refusals = source_.refusals();
    evidence_.notes = source_.notes();
    evidence_.degraded = source_.degraded();
    Evidence taken = std::exchange(evidence_, {});
    dsos_.clear();
    dso_numbers_.clear();
    dsos_by_key_.clear();
    strings_.clear();
    symbols_.clear();
    chains_.clear();
    stacks_.clear();
    unwound_.clear();
    placements_.clear();
    return taken;
}

EvidenceRecorder::AnsweredDso& EvidenceRecorder::dso_of(const collector::DsoRef& dso) { return dsos_[number_of(dso)]; }

// A Dso that was forgotten and came again has another id.
std::size_t EvidenceRecorder::number_of(const collector::DsoRef& dso) {
    const auto known = dso_numbers_.find(dso->id);
    if (known != dso_numbers_.end()) return known->second;
    const auto [at, added] = dsos_by_key_.try_emplace(evidence_key(*dso), dsos_.size());
    dso_numbers_.emplace(dso->id, at->second);
    if (!added) return at->second;
    EvidenceDso made{.kind = dso->kind,
                     .path = string_number(dso->path),
                     .build_id = dso->build_id,
                     .major = dso->major,
                     .minor = dso->minor,
                     .inode = dso->inode,
                     .inode_generation = dso->inode_generation,
                     .pid = dso->kind == collector::DsoKind::kAnonymous ? dso->first_pid : Pid{},
                     .function = string_number(dso->function),
                     .start = dso->start,
                     .addresses = {}};
    dsos_.push_back({.dso = std::move(made), .answers = {}});
    return at->second;
}

std::uint32_t EvidenceRecorder::string_number(std::string_view text) {
    const auto known = strings_.find(text);
    if (known != strings_.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(evidence_.strings.size());
    evidence_.strings.emplace_back(text);
    strings_.emplace(text, number);
    return number;
}

std::uint32_t EvidenceRecorder::symbol_number(const Symbol& symbol) {
    const EvidenceSymbol wanted{.name = string_number(symbol.name),
                                .dso = string_number(symbol.dso),
                                .start = symbol.start,
                                .size = symbol.size,
                                .reason = symbol.reason};
    const auto [at, added] = symbols_.try_emplace({wanted.name, wanted.dso, wanted.start, wanted.size, wanted.reason},
                                                  static_cast<std::uint32_t>(evidence_.symbols.size()));
    if (added) evidence_.symbols.push_back(wanted);
    return at->second;
}

// Plus one; 0 for none.
std::uint32_t EvidenceRecorder::chain_number(const std::vector<InlinedFrame>& frames) {
    if (frames.empty()) return 0;
    EvidenceChain chain;
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> key;
    for (const auto& frame : frames) {
        chain.push_back(
            {.function = string_number(frame.function), .file = string_number(frame.file), .line = frame.line});
        key.emplace_back(chain.back().function, chain.back().file, chain.back().line);
    }
    const auto [at, added] = chains_.try_emplace(std::move(key), static_cast<std::uint32_t>(evidence_.chains.size()));
    if (added) evidence_.chains.push_back(std::move(chain));
    return at->second + 1;
}

}  // namespace perfvigil::analyzer
