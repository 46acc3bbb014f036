// SPDX-License-Identifier: GPL-2.0-or-later
// Whether two profiles may be compared at all, by which events, and what else differs between them than the code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/diff.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct DiffEvents {
    std::uint32_t before = 0;  // into Profile::events
    std::uint32_t after = 0;
};
struct DiffPlan {
    std::vector<DiffEvents> events;  // at least one
    std::vector<std::string> notes;
};

// Refuses, unless forced: no event that both recorded, another event (fallback), another unit, samples lost.
[[nodiscard]] Result<DiffPlan> plan_comparison(const Profile& before, const Profile& after, const DiffOptions& options);

}  // namespace perfvigil::analyzer
