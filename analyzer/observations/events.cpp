// SPDX-License-Identifier: GPL-2.0-or-later
// no_pmu: cycles were wanted, and a clock stands in their place.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

bool is_clock(const ProfileEvent& event) {
    return event.unit == WeightUnit::kNanoseconds || event.name.starts_with("cpu-clock");
}

// Two of the same name and rate. Of one name alone is not enough: "cpu-clock" at two rates may be meant.
std::vector<const ProfileEvent*> twins(const Profile& profile) {
    for (const auto& first : profile.events) {
        if (!is_clock(first)) continue;
        std::vector<const ProfileEvent*> same;
        for (const auto& event : profile.events) {
            if (is_clock(event) && event.name == first.name && event.rate == first.rate) same.push_back(&event);
        }
        if (same.size() > 1) return same;
    }
    return {};
}

std::string remedy(const ProfileHost& host) {
    const auto machine = setting(host, "virtual_machine");
    if (machine == "yes") {
        return "Let the hypervisor give this virtual machine a PMU (QEMU/KVM: -cpu host,pmu=on), or record on the "
               "bare machine.";
    }
    if (machine == "no")
        return "See what the kernel says of the PMU at boot (dmesg), and whether the firmware hides it.";
    return "If this was a virtual machine, let its hypervisor give it a PMU (QEMU/KVM: -cpu host,pmu=on).";
}

}  // namespace

void judge_events(const Tally& tally, Observations& found) {
    const Profile& profile = tally.profile();
    const auto doubled = twins(profile);
    const bool reported = std::ranges::any_of(profile.degraded, [](const auto& d) { return d.reason == "no_pmu"; });
    if (doubled.empty() && !reported) return;
    Observation made{
        .id = "no_pmu",
        .severity = Severity::kNotice,
        .at_least = 1,
        .figures = {{"clock_events", "", static_cast<double>(std::ranges::count_if(profile.events, is_clock))}},
        .evidence = {},
        .meaning =
            "What cycles would show is not available: how fast the CPUs ran, and code that runs "
            "with interrupts off.",
        .remedy = remedy(profile.host)};
    if (doubled.empty()) {
        made.evidence = "The recorder found no cycle counter and recorded cpu-clock alone.";
    } else {
        std::vector<std::string> counts;
        for (const auto* event : doubled) {
            counts.push_back(std::to_string(event->samples));
            made.figures.push_back({"samples", event->name, static_cast<double>(event->samples)});
        }
        made.evidence =
            fmt::format("{} was recorded {} times ({} samples), as perf does where it finds no cycle counter.",
                        doubled.front()->name, doubled.size(), listed(counts));
        made.meaning +=
            " The clocks are one measurement: comparing their shares, as is done with cycles against "
            "cpu-clock, says nothing about how busy a CPU was.";
    }
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
