// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/broken_counts.hpp"

#include <utility>

namespace perfvigil::analyzer {

void BrokenCounts::add(const Slice& slice, std::span<const std::uint64_t> stack_samples, const FrameFunctions& frames,
                       const ProfileTables& tables) {
    constexpr std::uint32_t kNone = FrameFunctions::kNone;
    dso_seen_.assign(tables.dsos(), 0);
    rows_.resize(tables.dsos());
    for (std::size_t i = 0; i < slice.stacks.size(); ++i) {
        if (stack_samples[i] == 0) continue;
        const Stack& stack = slice.stacks[i];
        std::uint32_t broken_in = kNone;
        for (const auto frame : slice.frames_of(stack)) {
            const std::uint32_t dso = frames.user_dso(frame);
            if (dso == kNone) continue;
            if ((stack.flags & kStackBroken) != 0 && slice.frames[frame].dso == stack.broken_in) broken_in = dso;
            if (dso_seen_[dso] == i + 1) continue;
            dso_seen_[dso] = static_cast<std::uint32_t>(i + 1);
            rows_[dso].samples += stack_samples[i];
        }
        if (broken_in != kNone) rows_[broken_in].broken += stack_samples[i];
    }
}

std::vector<BrokenStacks> BrokenCounts::take(const ProfileTables& tables) {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].dso = tables.dso_at(static_cast<std::uint32_t>(i));
    std::erase_if(rows_, [](const BrokenStacks& row) { return row.samples == 0; });
    return std::exchange(rows_, {});
}

}  // namespace perfvigil::analyzer
