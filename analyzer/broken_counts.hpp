// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks that end in nowhere, counted by the Dso of their last good frame, among all stacks that pass through it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/profile/frame_functions.hpp"
#include "analyzer/profile/tables.hpp"
#include "analyzer/slice.hpp"

namespace perfvigil::analyzer {

class BrokenCounts {
public:
    // `stack_samples` by the slice's stacks; `frames` has looked at the slice.
    void add(const Slice& slice, std::span<const std::uint64_t> stack_samples, const FrameFunctions& frames,
             const ProfileTables& tables);
    // Names them by the same tables, before those are handed over.
    [[nodiscard]] std::vector<BrokenStacks> take(const ProfileTables& tables);

private:
    std::vector<BrokenStacks> rows_;       // by the tables' Dso number
    std::vector<std::uint32_t> dso_seen_;  // by Dso number: the last stack that passed through it, plus one
};

}  // namespace perfvigil::analyzer
