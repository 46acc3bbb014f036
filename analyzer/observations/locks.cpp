// SPDX-License-Identifier: GPL-2.0-or-later
// lock_contention: CPU time burnt while waiting for kernel locks, and the code that wants them.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kShows = 0.01;      // an uncontended lock never gets here: even this much is waiting
constexpr double kDominates = 0.15;  // more CPU than most changes to code can win back

struct Kind {
    Trait trait;
    std::string_view name;
};
constexpr Kind kKinds[] = {{Trait::kSpinning, "spin locks"},
                           {Trait::kRwSpinning, "reader-writer spin locks"},
                           {Trait::kOwnerSpinning, "mutexes and semaphores (spinning while the owner runs)"}};

}  // namespace

void judge_locks(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    Sum all;
    std::vector<std::string> kinds;
    for (const auto& [trait, name] : kKinds) {
        if (tally.self(trait).samples == 0) continue;
        all += tally.self(trait);
        kinds.push_back(fmt::format("{} {}", name, ratio_of(tally, tally.self(trait))));
    }
    const double low = tally.share(all).interval.low;
    if (all.samples == 0 || low < kShows) return;
    auto made = about("lock_contention", low >= kDominates ? Severity::kWarning : Severity::kNotice, tally, all);
    for (const auto& [trait, name] : kKinds) {
        if (tally.self(trait).samples != 0) add_part(made, tally, std::string(name), tally.self(trait));
    }
    const auto callers = by_other(tally.lock_callers());
    for (const auto& row : std::span(callers).first(std::min<std::size_t>(5, callers.size()))) {
        add_part(made, tally, function_name(tally, row.function), row.sum);
    }
    made.evidence = fmt::format("{} is spinning on kernel locks ({}), wanted by {}.", amount(tally, all), listed(kinds),
                                functions_listed(tally, callers, 5));
    made.meaning =
        "CPUs wait for each other there and do nothing. Who held the lock meanwhile is not in these stacks, "
        "and waiting that sleeps takes no CPU time and is not in this number.";
    made.remedy =
        "See which lock and how long: perf lock contention -b (5.19 and later). Fewer threads on the same "
        "object, or larger batches under one lock, help where the callers are one subsystem.";
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
