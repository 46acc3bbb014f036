// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/sampled_functions.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

void SampledFunctions::add(const Slice& slice) {
    std::vector<std::uint64_t> samples(slice.frames.size(), 0);
    for (const Entry& entry : slice.entries) {
        samples[slice.frames_of(slice.stacks[entry.stack]).front()] += entry.samples;
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
        if (samples[i] == 0) continue;
        if (CountedFunction* function = function_of(slice.frames[i], slice)) function->samples += samples[i];
    }
}

CountedFunction* SampledFunctions::function_of(const Frame& frame, const Slice& slice) {
    const auto dso =
        std::ranges::find_if(slice.dsos, [&](const collector::DsoRef& known) { return known->id == frame.dso; });
    if (dso == slice.dsos.end()) return nullptr;
    const Symbol symbol = symbolizer_.resolve(*dso, frame.offset);
    if (symbol.reason != UnknownReason::kNone || symbol.name.empty()) return nullptr;
    const auto [at, added] = functions_.try_emplace(Key{frame.dso.value, symbol.start});
    if (added) {
        at->second.dso = *dso;
        at->second.name = symbol.name;
        at->second.dso_name = symbol.dso;
        at->second.start = symbol.start;
        at->second.size = symbol.size;
    }
    return &at->second;
}

std::vector<CountedFunction> SampledFunctions::take() {
    std::vector<CountedFunction> all;
    for (auto& [key, function] : functions_) all.push_back(std::move(function));
    functions_.clear();
    std::ranges::stable_sort(all, std::ranges::greater{}, &CountedFunction::samples);
    return all;
}

}  // namespace perfvigil::analyzer
