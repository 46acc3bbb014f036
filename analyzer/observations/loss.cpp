// SPDX-License-Identifier: GPL-2.0-or-later
// lost_samples, throttled_clock, throttled_cycles: what the kernel could not write is missing where the load was
// highest, and what it kept back.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/kernel_accounts.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"
#include "analyzer/profile/warnings.hpp"

namespace perfvigil::analyzer {
namespace {

// Below it a function of 1 % of the time has lost at most a tenth of itself, if all the loss were its own.
constexpr double kNoticeLoss = 0.001;

struct CpuLoss {
    std::uint32_t cpu = 0;
    std::uint64_t lost = 0;
};

// The CPU that lost more than all others together, where there are others.
std::optional<CpuLoss> main_loser(const Profile& profile, const ProfileEvent& event) {
    if (profile.cpus.size() < 2 || event.unit == WeightUnit::kEvents) return std::nullopt;
    const bool clock = event.unit == WeightUnit::kNanoseconds;
    double all = 0;
    CpuLoss most;
    for (const auto& cpu : profile.cpus) {
        const std::uint64_t lost = clock ? cpu.sum.lost : cpu.sum.cycles_lost;
        all += static_cast<double>(lost);
        if (lost > most.lost) most = {cpu.sum.cpu.value, lost};
    }
    return static_cast<double>(most.lost) > all / 2 ? std::optional(most) : std::nullopt;
}

Observation lost_samples(const Profile& profile, const ProfileEvent& event) {
    const auto lost = static_cast<double>(event.lost);
    // What was lost has neither process nor thread: it is judged against all samples, whatever was selected.
    const std::uint64_t arrived = std::max(event.samples, event.whole_samples);
    const double all = lost + static_cast<double>(arrived);
    const double share = lost / all;
    Observation made{.id = "lost_samples",
                     .severity = share > kUnreliableLoss ? Severity::kWarning
                                                         : (share > kNoticeLoss ? Severity::kNotice : Severity::kInfo),
                     .at_least = share,
                     .figures = {{"lost_share", event.name, share},
                                 {"lost", event.name, lost},
                                 {"samples", event.name, static_cast<double>(arrived)}},
                     .evidence = {},
                     .meaning =
                         "A full ring loses whatever ran at that moment, so the functions with the highest "
                         "rates are the most undercounted. Busy intervals are widened by the loss; shares are "
                         "not corrected.",
                     .remedy = "Record with larger rings (-m; the daemon: rings.total) or at a lower frequency (-F)."};
    if (event.lost_is_shared) {
        made.evidence = fmt::format(
            "{} of any kind were lost in the rings that hold {}, against {} of it that arrived.",
            number_of(event.lost, "record", "records"), event.name, number_of(arrived, "sample", "samples"));
    } else {
        made.evidence =
            fmt::format("{} of the {} samples were lost: {} of {:.0f}.", percent(share), event.name, event.lost, all);
    }
    if (const auto loser = main_loser(profile, event)) {
        made.evidence += fmt::format(" CPU {} lost {} of them.", loser->cpu, loser->lost);
        made.figures.push_back({"lost", fmt::format("cpu {}", loser->cpu), static_cast<double>(loser->lost)});
    }
    return made;
}

// A hundredth of the time without samples is more than busy's interval allows for; with a tenth the profile is of
// another stretch of time.
constexpr double kThrottled = 0.01;
constexpr double kThrottledMuch = 0.1;
constexpr std::string_view kThrottledRemedy =
    "Sample at a lower frequency (-F), or raise sysctl kernel.perf_event_max_sample_rate and "
    "kernel.perf_cpu_time_max_percent.";

void add_throttled(std::string id, double seconds, double share, std::string evidence, std::string meaning,
                   Observations& found) {
    if (!(share >= kThrottled)) return;
    found.push_back({.id = std::move(id),
                     .severity = share >= kThrottledMuch ? Severity::kWarning : Severity::kNotice,
                     .at_least = share,
                     .figures = {{"throttled_share", "", share}, {"throttled_seconds", "", seconds}},
                     .evidence = std::move(evidence),
                     .meaning = std::move(meaning),
                     .remedy = std::string(kThrottledRemedy)});
}

void judge_throttling(const Profile& profile, Observations& found) {
    double total = 0;
    double silent = 0;
    double busy = 0;
    double stood = 0;
    for (const auto& cpu : profile.cpus) {
        total += to_seconds(Nanoseconds(cpu.ledger.total));
        silent += to_seconds(silent_time(cpu.sum));
        if (!cpu.busy.known) continue;
        busy += cpu.busy.ratio * to_seconds(cpu.sum.enabled);
        stood += to_seconds(throttled_in_work(cpu.sum, cpu.sum.cycles_throttled));
    }
    add_throttled(
        "throttled_clock", silent, total > 0 ? silent / total : 0,
        fmt::format("The kernel kept the clock silent for {:.3f} s: {} of the CPUs' time.", silent,
                    percent(total > 0 ? silent / total : 0)),
        "What ran then is in no sample. Busy assumes that it was like the rest; its interval allows for anything.",
        found);
    const double of_busy = busy > 0 ? stood / busy : 0;
    add_throttled("throttled_cycles", stood, of_busy,
                  fmt::format("The kernel stopped the cycles counter for {:.3f} s, against {:.3f} s in which the CPUs "
                              "were busy.",
                              stood, busy),
                  "Cycles of that time are neither counted nor sampled: what ran then has too small a share of them. "
                  "Where it may be much of a CPU's work, its frequency is not available.",
                  found);
}

}  // namespace

void judge_loss(const Tally& tally, Observations& found) {
    for (const auto& event : tally.profile().events) {
        if (event.lost != 0) found.push_back(lost_samples(tally.profile(), event));
    }
    judge_throttling(tally.profile(), found);
}

}  // namespace perfvigil::analyzer
