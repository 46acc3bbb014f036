// SPDX-License-Identifier: GPL-2.0-or-later
// unit_throttled: units that wanted to run and were stopped by their own CPU limit.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kFewestPeriods = 10;  // a second's worth
constexpr double kOften = 0.05;
constexpr double kVeryOften = 0.25;
constexpr std::size_t kNamed = 5;

double share_of(const ProfileThrottledUnit& unit) {
    return static_cast<double>(unit.throttled_periods) / static_cast<double>(unit.periods);
}

}  // namespace

void judge_throttled_units(const Tally& tally, Observations& found) {
    std::vector<const ProfileThrottledUnit*> often;
    for (const auto& unit : tally.profile().throttled_units) {
        if (unit.periods >= kFewestPeriods && share_of(unit) >= kOften) often.push_back(&unit);
    }
    if (often.empty()) return;
    Observation made{.id = "unit_throttled",
                     .severity = Severity::kNotice,
                     .figures = {},
                     .evidence = {},
                     .meaning =
                         "They wanted to run and were not let: whoever waits for them waits longer, while the "
                         "host may be idle. No sample shows that time.",
                     .remedy =
                         "Raise CPUQuota= (cpu.max; limits.cpu of a container), or have them start fewer threads "
                         "at once: a limit of one CPU lasts four busy threads a quarter of each period."};
    for (std::size_t i = 0; i < often.size(); ++i) {
        const ProfileThrottledUnit& unit = *often[i];
        const double share = share_of(unit);
        made.at_least = std::max(made.at_least, share);
        if (share >= kVeryOften) made.severity = Severity::kWarning;
        if (i >= kNamed) continue;
        made.figures.push_back({"throttled_periods_share", unit.unit, share});
        made.figures.push_back({"throttled_seconds", unit.unit, to_seconds(unit.throttled)});
        made.evidence += fmt::format(
            "{}{} was stopped by its own CPU limit in {} of the {} periods in which it ran, for {:.3f} s over its run "
            "queues.",
            i == 0 ? "" : " ", unit.unit, unit.throttled_periods, unit.periods, to_seconds(unit.throttled));
    }
    if (often.size() > kNamed) made.evidence += fmt::format(" {} further units were, too.", often.size() - kNamed);
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
