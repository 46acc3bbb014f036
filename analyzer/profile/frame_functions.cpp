// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/frame_functions.hpp"

#include "analyzer/redaction.hpp"

namespace perfvigil::analyzer {

void FrameFunctions::name(const Slice& slice) {
    dsos_.clear();
    for (const auto& dso : slice.dsos) dsos_.emplace(dso->id, &dso);
    named_.clear();
    unknown_.clear();
    places_.clear();
    constexpr std::size_t kAhead = 8;
    for (std::size_t i = 0; i < slice.frames.size(); ++i) {
        if (i + kAhead < slice.frames.size()) frames_.expect(slice.frames[i + kAhead]);
        const Frame& frame = slice.frames[i];
        const auto* dso = dso_of(frame);
        const std::uint32_t number = dso == nullptr ? kNone : frames_.number_of(frame, *dso);
        if (number < known_.size() && known_[number].function != kNone) {
            named_.push_back(known_[number]);
            continue;
        }
        named_.emplace_back();
        unknown_.push_back({.frame = static_cast<std::uint32_t>(i), .number = number});
        if (dso != nullptr) places_.push_back({.dso = dso, .offset = frame.offset});
    }
    const auto symbols = symbolizer_.resolve_all(places_);
    known_.resize(frames_.size());
    std::size_t at = 0;
    for (const auto [frame, number] : unknown_) {
        if (number == kNone) {
            named_[frame] = without_dso(slice.frames[frame]);
            continue;
        }
        named_[frame] = named(places_[at], symbols[at]);
        const bool lasts = symbols[at].reason != UnknownReason::kPending && !symbols[at].passing;
        if (lasts) known_[number] = named_[frame];
        ++at;
    }
}

const collector::DsoRef* FrameFunctions::dso_of(const Frame& frame) const {
    if (frame.dso.value == 0) return nullptr;
    const auto found = dsos_.find(frame.dso);
    return found == dsos_.end() ? nullptr : found->second;
}

FrameFunctions::Named FrameFunctions::named(const CodePlace& place, const Symbol& symbol) {
    const collector::Dso& dso = **place.dso;
    const bool nameless = symbol.name.empty() || symbol.reason != UnknownReason::kNone;
    const UnknownReason reason =
        nameless && symbol.reason == UnknownReason::kNone ? UnknownReason::kOutsideSymbols : symbol.reason;
    const std::string_view shown = symbol.dso.empty() ? dso.path : symbol.dso;
    const bool kernel = dso.kind == collector::DsoKind::kKernel || dso.kind == collector::DsoKind::kKernelCode;
    Named made;
    const std::string_view name = nameless ? "[unknown]" : symbol.name;
    made.function = redacts_ ? tables_.function(redacted_name(name), redacted_dso(shown), kernel, reason)
                             : tables_.function(name, shown, kernel, reason);
    // The kernel's is not its modules'; code behind a perf map is not the file's.
    if (shown == dso.path) tables_.note_build_id(made.function, dso.build_id);
    if (apart_) {
        ProfileFunction apart = tables_.function_at(made.function);
        apart.line = static_cast<std::uint32_t>(codes_.number_of(*place.dso, place.offset) + 1);
        made.function = tables_.function(apart);
    }
    if (!kernel) made.user_dso = tables_.dso_of(made.function);
    return made;
}

FrameFunctions::Named FrameFunctions::without_dso(const Frame& frame) {
    const auto what = frame.dso.value == 0 ? frame.offset : std::uint64_t{kFrameUnmapped};
    const auto function = [&] {
        switch (what) {
            case kFrameGuest: return tables_.function("[guest]", "[guest]", false, UnknownReason::kNone);
            case kFrameHypervisor: return tables_.function("[hypervisor]", "[hypervisor]", true, UnknownReason::kNone);
            case kFrameExcluded: return tables_.function(kExcluded, kExcluded, false, UnknownReason::kNone);
            case kFrameCut: return tables_.function("[cut]", "[cut]", false, UnknownReason::kNone);
            default: return tables_.function("[unknown]", "[unknown]", false, UnknownReason::kUnmapped);
        }
    };
    const auto number = function();
    return {.function = number, .user_dso = frame.dso.value == 0 ? kNone : tables_.dso_of(number)};
}

std::size_t FrameFunctions::code(const Frame& frame) {
    const auto* dso = dso_of(frame);
    return dso == nullptr ? SIZE_MAX : codes_.number_of(*dso, frame.offset);
}

}  // namespace perfvigil::analyzer
