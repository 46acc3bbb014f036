// SPDX-License-Identifier: GPL-2.0-or-later
// irq_off_time: a timer cannot interrupt code that has interrupts off. Its tick arrives when they come back on, and the
// whole stretch is charged to the function that enables them.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kShows = 0.01;
constexpr double kShowsMuch = 0.05;

bool is_arm(const ProfileHost& host) {
    return host.architecture.starts_with("aarch64") || host.architecture.starts_with("arm");
}

// Where cycles arrive by NMI they show that code; on arm64 they do not unless pseudo-NMIs are on, so nothing is said.
bool seen_by_cycles(const Profile& profile) {
    if (is_arm(profile.host)) return false;
    return std::ranges::any_of(profile.events, [](const auto& event) {
        return event.samples != 0 && (event.unit == WeightUnit::kCycles || event.name.starts_with("cycles") ||
                                      event.name.starts_with("cpu_core/cycles"));
    });
}

bool sampled_by_timer(const Tally& tally) {
    const auto& event = tally.judged_event();
    return event.unit == WeightUnit::kNanoseconds || event.name.starts_with("cpu-clock") ||
           event.name.starts_with("task-clock");
}

}  // namespace

void judge_irq_off(const Tally& tally, Observations& found) {
    if (!tally.judged() || !sampled_by_timer(tally)) return;
    const Sum sum = tally.self(Trait::kIrqEnabling);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kShows) return;
    const bool cycles_too = seen_by_cycles(tally.profile());
    const auto severity = low >= kShowsMuch && !cycles_too ? Severity::kNotice : Severity::kInfo;
    auto made = about("irq_off_time", severity, tally, sum);
    const auto functions = tally.functions_with(Trait::kIrqEnabling);
    for (const auto& row : std::span(functions).first(std::min<std::size_t>(4, functions.size()))) {
        add_part(made, tally, function_name(tally, row.function), row.sum);
    }
    const auto callers = by_other(tally.irq_callers());
    made.evidence =
        fmt::format("{} stands in functions that turn interrupts back on: {}. Their callers: {}.", amount(tally, sum),
                    functions_listed(tally, functions, 4), functions_listed(tally, callers, 3));
    made.meaning =
        "This clock is a timer: it cannot sample code that runs with interrupts off, and charges that code's "
        "time to the place where they come on again. Read these rows as the work of their callers, not as "
        "the cost of the function.";
    made.remedy = cycles_too ? "Rank kernel functions by cycles, which sample such code where it is."
                             : "Where a cycle counter is available record cycles as well: it interrupts by NMI (x86).";
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
