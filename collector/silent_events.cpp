// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/silent_events.hpp"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perfvigil::collector {
namespace {

// A frequency-mode event begins with a period of 1 and samples at once; an idle CPU has run as many cycles long before
// its time to show is over.
constexpr std::uint64_t kCountsThatSample = 1'000'000;

struct Silence {
    std::vector<std::uint32_t> counts_nothing;  // CPUs
    std::vector<std::uint32_t> never_scheduled;
    std::vector<std::uint32_t> samples_nothing;
    std::size_t open = 0;  // on so many CPUs
};

void look_at(CpuRings& rings, const EventTable& table, std::map<std::string, Silence>& events) {
    for (std::size_t i = 0; i < rings.instances().size(); ++i) {
        const OpenInstance& instance = rings.instances()[i];
        const Counter& counter = rings.last(i);
        if (instance.kind != RingKind::kSamples) continue;
        const EventInfo& event = table.events()[instance.event.value];
        Silence& silence = events[event.name];
        ++silence.open;
        if (counter.enabled < static_cast<std::uint64_t>(kProofTime.count())) continue;
        const bool sampled = rings.has_sampled(i) || counter.lost > 0;
        if (counter.running == 0) {
            silence.never_scheduled.push_back(instance.cpu.value);
        } else if (counter.value == 0) {
            if (event.attr.is_clock() && sampled) continue;
            silence.counts_nothing.push_back(instance.cpu.value);
        } else if (!event.attr.is_clock() && !sampled && counter.value >= kCountsThatSample) {
            silence.samples_nothing.push_back(instance.cpu.value);
        }
    }
}

}  // namespace

std::optional<Degraded> silent_events(const EventSet& set, const EventTable& table) {
    if (!set.plan().threads.empty()) return std::nullopt;  // a task need not run on every CPU
    std::map<std::string, Silence> events;
    for (const auto& rings : set.cpus()) look_at(*rings, table, events);
    std::string detail;
    for (const auto& [event, silence] : events) {
        const auto say = [&](const std::vector<std::uint32_t>& cpus, std::string_view what) {
            if (cpus.empty()) return;
            detail += fmt::format("{}{} {} on CPUs {} ({} of {})", detail.empty() ? "" : "; ", event, what,
                                  fmt::join(cpus, ","), cpus.size(), silence.open);
        };
        say(silence.counts_nothing, "is enabled and counts nothing");
        say(silence.never_scheduled, "was never given a counter");
        say(silence.samples_nothing, "counts and gives no samples");
    }
    if (detail.empty()) return std::nullopt;
    return Degraded{"event_silent", detail + "; what needs it says nothing of them",
                    "Other users of the counters (perf, the NMI watchdog) may hold them; in a virtual machine the "
                    "hypervisor may not provide them. perfvigil doctor tries each event."};
}

}  // namespace perfvigil::collector
