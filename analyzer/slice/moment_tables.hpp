// SPDX-License-Identifier: GPL-2.0-or-later
// The per-function tables of a profile's timeline: a slice's top functions, and the finer timeline that comparisons
// take their variance from. Knows no names and no stacks.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

using TopFunctions = std::vector<ProfileMoment::TopFunction>;

// Rows of one function and event become one, by event and function.
void merge_rows(TopFunctions& rows);
// Of merged rows the `most` heaviest of each event, by event, most weight first.
void keep_top(TopFunctions& rows, std::size_t most = kTopFunctions);

// What `more` counts is added to `into`, CPU by CPU too, and it ends where `more` does. Rows are merged, not cut.
void join_moments(ProfileMoment& into, ProfileMoment&& more);
// The same of CPUs alone: those of `more` are added to `sum`, which stays in their order.
void add_cpus(std::vector<ProfileCpu>& sum, const std::vector<ProfileCpu>& more);

// A timeline whose grain follows its length: at most kMost moments; when there are more, neighbours become one. So a
// capture of any length has between half of kMost and kMost of them, unless it is shorter than that many parts.
// These moments hold every function, not only the top, and no CPUs: counters are read at the recorder's cuts alone.
class FineMoments {
public:
    static constexpr std::size_t kMost = 40;

    // `part`: the length that parts have as a rule.
    explicit FineMoments(Nanoseconds part) : grain_(part) {}

    // The next part of time. `rows`: self, idle excluded, any order; `totals` by event, idle included.
    void add(Nanoseconds length, TopFunctions rows, const std::vector<EventTotals>& totals);
    [[nodiscard]] bool empty() const { return moments_.empty(); }
    // Their wall_end is counted back from `end` (where that is known).
    [[nodiscard]] std::vector<ProfileMoment> take(WallTime end, std::size_t events);

private:
    void halve();

    std::vector<ProfileMoment> moments_;
    Nanoseconds grain_;  // the last moment grows until it is this long
};

}  // namespace perfvigil::analyzer
