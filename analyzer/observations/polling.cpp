// SPDX-License-Identifier: GPL-2.0-or-later
// polling_idle: CPUs that wait by spinning burn cycles while they do nothing.
#include <fmt/format.h>

#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

// cpuidle polls for a few microseconds before each sleep: that much is ordinary.
constexpr double kPolls = 0.01;
constexpr double kPollsMuch = 0.1;

}  // namespace

void judge_polling(const Tally& tally, Observations& found) {
    const auto& host = tally.profile().host;
    const bool asked_for = kernel_parameter(host, "idle").value_or("") == "poll";
    Sum polling;
    Sum whole;
    if (tally.judged()) {
        polling = tally.total(Trait::kPollIdle) + tally.idle_total(Trait::kPollIdle);
        whole = tally.busy() + tally.idle();
    }
    const Share share = Tally::share_of(polling, whole);
    const bool seen = polling.samples != 0 && share.interval.low >= kPolls;
    if (!seen && !asked_for) return;
    Observation made{.id = "polling_idle",
                     .severity = seen && share.interval.low >= kPollsMuch ? Severity::kNotice : Severity::kInfo,
                     .at_least = share.interval.low,
                     .figures = {{"share", "", share.ratio}, {"samples", "", static_cast<double>(polling.samples)}},
                     .evidence = {},
                     .meaning = "A CPU that polls is idle but runs: its cycles are no work, it draws power, and ",
                     .remedy = {}};
    if (seen) {
        made.evidence = fmt::format("{} of all {} was spent in the polling idle loop.", percent(share.ratio),
                                    tally.judged_event().name);
    }
    if (asked_for) {
        made.evidence += made.evidence.empty() ? "idle=poll is on the kernel command line."
                                               : " idle=poll is on the kernel command line.";
        made.figures.push_back({"idle_poll", "kernel command line", 1});
    }
    made.meaning += setting(host, "smt") == "on" ? "it takes execution units from its SMT sibling."
                                                 : "where SMT is on it takes execution units from its sibling.";
    made.remedy = asked_for ? "Drop idle=poll unless wake-ups must take less than a few microseconds."
                            : "If latency allows, let CPUs sleep: see cpuidle's states, /dev/cpu_dma_latency, and in a "
                              "guest haltpoll.guest_halt_poll_ns.";
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
