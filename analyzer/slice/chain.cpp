// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/chain.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

std::uint32_t FrameTable::number_of(const Frame& frame, const collector::DsoRef& dso) {
    if ((frames_.size() + 1) * 2 > slots_.size()) grow();
    Slot& slot = slot_of(frame);
    if (slot.number != kNone) return slot.number;
    const auto number = static_cast<std::uint32_t>(frames_.size());
    slot = {.offset = frame.offset, .dso = frame.dso, .number = number};
    frames_.push_back(frame);
    dso_numbers_.push_back(dso != nullptr ? dso_number(dso) : kNone);
    return number;
}

FrameTable::Slot& FrameTable::slot_of(const Frame& frame) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = first_place(frame);
    while (slots_[at].number != kNone && (slots_[at].offset != frame.offset || slots_[at].dso != frame.dso)) {
        at = (at + 1) & mask;
    }
    return slots_[at];
}

std::uint32_t FrameTable::dso_number(const collector::DsoRef& dso) {
    const std::uint64_t hash = mix(hash_seed(), dso->id.value);
    const auto found = by_dso_.find(hash, [&](std::uint32_t at) { return dsos_[at]->id == dso->id; });
    if (found != kNone) return found;
    const auto number = static_cast<std::uint32_t>(dsos_.size());
    dsos_.push_back(dso);
    by_dso_.insert(hash, number);
    return number;
}

void FrameTable::grow() {
    std::vector<Slot> old(std::max<std::size_t>(1024, slots_.size() * 2));
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.number != kNone) slot_of({.dso = slot.dso, .offset = slot.offset}) = slot;
    }
}

void FrameTable::clear() {
    std::ranges::fill(slots_, Slot{});
    frames_.clear();
    dso_numbers_.clear();
    dsos_.clear();
    by_dso_.clear();
    empty_path_ = mix(hash_seed(), ++generation_);
}

}  // namespace perfvigil::analyzer
