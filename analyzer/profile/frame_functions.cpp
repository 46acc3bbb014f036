// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/frame_functions.hpp"

#include "analyzer/redaction.hpp"

namespace perfvigil::analyzer {

void FrameFunctions::begin_window() {
    symbolizer_.begin_window();
    named_.clear();
    named_index_.clear();
}

void FrameFunctions::name(const Slice& slice, Options options) {
    options_ = options;
    symbolizer_.begin_slice(slice.start, slice.end);
    dsos_.clear();
    for (const auto& dso : slice.dsos) dsos_.emplace(dso->id, &dso);
    functions_.clear();
    for (const Frame& frame : slice.frames) functions_.push_back(function_of(frame));
}

std::uint32_t FrameFunctions::function_of(const Frame& frame) {
    if (frame.dso.value == 0) return function_without_dso(frame.offset);
    const std::uint64_t hash = mix(mix(hash_seed(), frame.offset), frame.dso.value);
    const auto known = named_index_.find(hash, [&](std::uint32_t position) { return named_[position].frame == frame; });
    if (known != HashIndex::kNone) return named_[known].function;

    const auto found = dsos_.find(frame.dso);
    if (found == dsos_.end()) return function_without_dso(kFrameUnmapped);
    const collector::DsoRef& dso = *found->second;
    const Symbol symbol = symbolizer_.resolve(dso, frame.offset);
    const bool nameless = symbol.name.empty() || symbol.reason != UnknownReason::kNone;
    const UnknownReason reason =
        nameless && symbol.reason == UnknownReason::kNone ? UnknownReason::kOutsideSymbols : symbol.reason;
    const std::string_view shown = symbol.dso.empty() ? dso->path : symbol.dso;
    const bool kernel = dso->kind == collector::DsoKind::kKernel || dso->kind == collector::DsoKind::kKernelCode;
    const std::string_view name = nameless ? "[unknown]" : symbol.name;
    std::uint32_t function = options_.redacts
                                 ? tables_.function(redacted_name(name), redacted_dso(shown), kernel, reason)
                                 : tables_.function(name, shown, kernel, reason);
    // The kernel's is not its modules'; code behind a perf map is not the file's.
    if (shown == dso->path) tables_.note_build_id(function, dso->build_id);
    if (options_.apart) function = function_at(function, dso, frame.offset);
    if (reason != UnknownReason::kPending && !symbol.passing) {
        named_index_.insert(hash, static_cast<std::uint32_t>(named_.size()));
        named_.push_back({.frame = frame, .function = function});
    }
    return function;
}

// The function at one address alone, until it is known what was inlined there (expand_frames).
std::uint32_t FrameFunctions::function_at(std::uint32_t function, const collector::DsoRef& dso, std::uint64_t offset) {
    ProfileFunction apart = tables_.function_at(function);
    apart.line = static_cast<std::uint32_t>(codes_.number_of(dso, offset) + 1);
    return tables_.function(apart);
}

std::uint32_t FrameFunctions::function_without_dso(std::uint64_t what) {
    switch (what) {
        case kFrameGuest: return tables_.function("[guest]", "[guest]", false, UnknownReason::kNone);
        case kFrameHypervisor: return tables_.function("[hypervisor]", "[hypervisor]", true, UnknownReason::kNone);
        case kFrameExcluded: return tables_.function(kExcluded, kExcluded, false, UnknownReason::kNone);
        case kFrameCut: return tables_.function("[cut]", "[cut]", false, UnknownReason::kNone);
        default: return tables_.function("[unknown]", "[unknown]", false, UnknownReason::kUnmapped);
    }
}

std::string FrameFunctions::code_of(const Frame& frame) {
    const auto dso = dsos_.find(frame.dso);
    return std::to_string(dso == dsos_.end() ? SIZE_MAX : codes_.number_of(*dso->second, frame.offset));
}

}  // namespace perfvigil::analyzer
