// SPDX-License-Identifier: GPL-2.0-or-later
// Says what is known of the time that no sample shows.
#include "analyzer/observations/coverage.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/profile/warnings.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kNamed = 8;
// A twentieth of the time that nothing explains is more than any ledger's error.
constexpr double kUnexplained = 0.05;

struct Term {
    std::string_view figure;
    std::string_view words;
    std::int64_t nanoseconds;
};

std::string named(std::vector<const ProfileCpu*> cpus) {
    std::ranges::stable_sort(cpus, {}, [](const ProfileCpu* cpu) { return cpu->busy.coverage; });
    std::vector<std::string> names;
    for (const auto* cpu : std::span(cpus).first(std::min(kNamed, cpus.size()))) {
        names.push_back(fmt::format("CPU {} ({})", cpu->sum.cpu.value, percent(cpu->busy.coverage)));
    }
    if (cpus.size() > kNamed) names.push_back(fmt::format("{} more", cpus.size() - kNamed));
    return listed(names);
}

// Their time without samples by the ledger's terms.
void explain(Observation& made, const ClockLedger& sum, bool by_kernel) {
    const auto total = static_cast<double>(sum.total);
    std::vector<std::string> parts;
    for (const auto& term : {Term{"idle_unsampled_share", "idle by /proc/stat", sum.idle_unsampled},
                             Term{"lost_share", "lost", sum.lost}, Term{"throttled_share", "throttled", sum.throttled},
                             Term{"stolen_share", "stolen by the hypervisor", sum.stolen},
                             Term{"unexplained_share", "not explained", sum.unexplained}}) {
        const double share = std::max(0.0, static_cast<double>(term.nanoseconds) / total);
        made.figures.push_back({std::string(term.figure), "", share});
        if (share >= 0.001) parts.push_back(fmt::format("{} {}", percent(share), term.words));
    }
    if (!parts.empty()) made.evidence += fmt::format(" What no sample shows of their time: {}.", listed(parts));
    const double unexplained = static_cast<double>(sum.unexplained) / total;
    if (by_kernel && unexplained >= kUnexplained) made.severity = Severity::kNotice;
    if (!by_kernel)
        made.meaning += " The recording does not hold /proc/stat, so nothing tells idle time from the rest.";
}

}  // namespace

void judge_coverage(const Tally& tally, std::vector<Observation>& found) {
    std::vector<const ProfileCpu*> cpus;
    ClockLedger sum;
    double missing = 0;
    bool by_kernel = true;
    for (const auto& cpu : tally.profile().cpus) {
        if (!cpu.busy.known || cpu.busy.coverage >= kFullCoverage) continue;
        cpus.push_back(&cpu);
        sum += cpu.ledger;
        missing = std::max(missing, 1 - cpu.busy.coverage);
        by_kernel &= cpu.sum.times_known;
    }
    if (cpus.empty() || sum.total <= 0) return;
    Observation made{.id = "partial_coverage",
                     .severity = Severity::kInfo,
                     .at_least = missing,
                     .figures = {{"cpus", "", static_cast<double>(cpus.size())}},
                     .evidence = fmt::format("Fewer clock samples than ticks due on {}.", named(cpus)),
                     .meaning = "Busy is computed from the ticks due, so it holds; the share of idle samples does not.",
                     .remedy = {}};
    for (const auto* cpu : std::span(cpus).first(std::min(kNamed, cpus.size()))) {
        made.figures.push_back({"coverage", fmt::format("cpu {}", cpu->sum.cpu.value), cpu->busy.coverage});
    }
    explain(made, sum, by_kernel);
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
