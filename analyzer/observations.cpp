// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observations.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/observations/coverage.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {

std::string_view severity_name(Severity severity) {
    switch (severity) {
        case Severity::kInfo: return "info";
        case Severity::kNotice: return "notice";
        case Severity::kWarning: return "warning";
    }
    return "info";
}

std::vector<Observation> observe(const Profile& profile) {
    const Tally tally(profile);
    std::vector<Observation> found;
    judge_loss(tally, found);
    judge_coverage(tally, found);
    judge_sample_count(tally, found);
    judge_idle_share(tally, found);
    judge_events(tally, found);
    judge_cpus(tally, found);
    judge_throttled_units(tally, found);
    judge_cycles_in_idle(tally, found);
    judge_polling(tally, found);
    judge_chains(tally, found);
    judge_frameless_callers(tally, found);
    judge_unknown(tally, found);
    judge_interpreters(tally, found);
    judge_modules(tally, found);
    judge_irq_off(tally, found);
    judge_security_tax(tally, found);
    judge_debug_tax(tally, found);
    judge_locks(tally, found);
    judge_memory(tally, found);
    judge_kernel_entry(tally, found);
    // Damaged counts must not reach JSON as what it has no word for.
    for (auto& observation : found) {
        std::erase_if(observation.figures, [](const Figure& figure) { return !std::isfinite(figure.value); });
        if (!std::isfinite(observation.at_least)) observation.at_least = 0;
    }
    std::ranges::stable_sort(found, [](const Observation& a, const Observation& b) {
        return a.severity != b.severity ? a.severity > b.severity : a.at_least > b.at_least;
    });
    return found;
}

}  // namespace perfvigil::analyzer
