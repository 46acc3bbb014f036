// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/address_counts.hpp"

#include <algorithm>

#include "analyzer/function_name.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

bool same_dso(std::string_view shown, std::string_view wanted) {
    return wanted.empty() || shown == wanted || base_name(shown) == wanted;
}

}  // namespace

AddressCounts::AddressCounts(const std::vector<collector::EventInfo>& events, Symbolizer& symbolizer,
                             std::string symbol, std::string dso, std::string event)
    : events_(events),
      symbolizer_(symbolizer),
      symbol_(std::move(symbol)),
      dso_(std::move(dso)),
      event_(std::move(event)) {}

bool AddressCounts::counts(collector::EventIndex event) {
    if (event.value >= events_.size()) return false;
    const auto& info = events_[event.value];
    if (info.role != collector::EventRole::kSampling) return false;
    if (event_.empty()) event_ = info.name;
    return info.name == event_;
}

void AddressCounts::add(const Slice& slice) {
    dsos_.clear();
    for (const auto& dso : slice.dsos) dsos_.emplace(dso->id, &dso);
    // What each frame turned out to be, asked once: nothing yet, another function, or the one.
    constexpr std::uint8_t kUnasked = 0;
    constexpr std::uint8_t kAsked = 1;
    std::vector<std::uint8_t> asked(slice.frames.size(), kUnasked);
    by_frame_.assign(slice.frames.size(), nullptr);
    for (const Entry& entry : slice.entries) {
        if (!counts(entry.event)) continue;
        const auto leaf = slice.frames_of(slice.stacks[entry.stack]).front();
        const Frame& frame = slice.frames[leaf];
        if (asked[leaf] == kUnasked) {
            asked[leaf] = kAsked;
            by_frame_[leaf] = function_of(frame);
        }
        if (by_frame_[leaf] == nullptr) continue;
        CountedFunction& function = *by_frame_[leaf];
        function.samples += entry.samples;
        AddressCount& count = function.addresses[frame.offset];
        count.samples += entry.samples;
        count.weight += entry.weight;
    }
}

// The counted function that the frame lies in; nullptr: in another one.
CountedFunction* AddressCounts::function_of(const Frame& frame) {
    const auto dso = dsos_.find(frame.dso);
    if (dso == dsos_.end()) return nullptr;
    const Symbol symbol = symbolizer_.resolve(*dso->second, frame.offset);
    if (symbol.reason != UnknownReason::kNone || !same_dso(symbol.dso, dso_)) return nullptr;
    // Asked for by its group's name, each of its clones and parts is one.
    if (symbol.name != symbol_ && function_group(symbol.name) != symbol_) return nullptr;
    CountedFunction& function = functions_[{.dso = frame.dso, .start = symbol.start}];
    if (function.dso == nullptr) {
        function.dso = *dso->second;
        function.name = symbol.name;
        function.dso_name = symbol.dso;
        function.start = symbol.start;
        function.size = symbol.size;
    }
    return &function;
}

std::vector<CountedFunction> AddressCounts::functions() const {
    std::vector<CountedFunction> all;
    for (const auto& [key, function] : functions_) all.push_back(function);
    std::ranges::stable_sort(all, std::greater{}, &CountedFunction::samples);
    return all;
}

}  // namespace perfvigil::analyzer
