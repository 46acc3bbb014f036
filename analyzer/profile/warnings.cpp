// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/warnings.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace perfvigil::analyzer {
namespace {

std::string count(std::uint64_t number, std::string_view one, std::string_view many) {
    return std::to_string(number) + " " + std::string(number == 1 ? one : many);
}

// What was lost in the slices that a selection touches, against all that arrived in them: the observation of lost
// samples knows the whole recording only.
void warn_of_loss(Profile& profile, const WindowFacts& facts) {
    for (std::size_t i = 0; i < std::min(profile.events.size(), facts.arrived.size()); ++i) {
        const auto& event = profile.events[i];
        const double all = static_cast<double>(facts.arrived[i] + event.lost);
        if (event.lost == 0 || static_cast<double>(event.lost) <= kUnreliableLoss * all) continue;
        profile.warnings.push_back("In the slices that were selected from, " +
                                   count(event.lost, "record of ", "records of ") + event.name + " were lost against " +
                                   count(facts.arrived[i], "sample", "samples") + " that arrived.");
    }
}

// Where the profile knows its CPUs, the silence of clock and cycles stands in their ledgers and is judged by what it
// comes to (throttled_clock, throttled_cycles).
void warn_of_throttling(Profile& profile, const WindowFacts& facts) {
    for (std::size_t i = 0; i < profile.events.size() && i < facts.throttles.size(); ++i) {
        const auto& event = profile.events[i];
        const bool in_ledger = event.unit != WeightUnit::kEvents && !profile.cpus.empty();
        if (facts.throttles[i] == 0 || in_ledger) continue;
        const double time = to_seconds(facts.throttled[i]);
        profile.warnings.push_back(fmt::format(
            "The kernel throttled {} {}{}: what ran then is missing from the samples.", event.name,
            count(facts.throttles[i], "time", "times"), time > 0 ? fmt::format(", for {:.3f} s", time) : ""));
    }
}

void warn_of_events(Profile& profile, const std::vector<collector::EventInfo>& events) {
    std::size_t clocks = 0;
    for (const auto& info : events) {
        if (info.role != collector::EventRole::kSampling) continue;
        if (info.attr.is_cpu_clock()) ++clocks;
        if (info.attr.freq() && !info.attr.is_clock() && !info.attr.has(collector::kSamplePeriod)) {
            profile.warnings.push_back("The samples of " + info.name +
                                       " carry no periods though its rate varied: each counts the same, and its event "
                                       "count means nothing.");
        }
    }
    if (std::ranges::any_of(profile.cpus, [](const auto& cpu) { return cpu.sum.cycles_scaled; })) {
        profile.warnings.emplace_back(
            "The cycles counter had to be shared and ran only part of the time: its counts are scaled.");
    }
    if (clocks < 2) return;
    const bool known = std::ranges::any_of(profile.degraded, [](const auto& d) { return d.reason == "no_pmu"; });
    if (!known) {
        profile.degraded.push_back({.reason = "no_pmu",
                                    .detail = "The recorder opened cpu-clock in the place of cycles; what needs cycles "
                                              "is not available.",
                                    .remedy = {}});
    }
}

}  // namespace

void WindowFacts::note(const Slice& slice) {
    cut_frames += slice.cut_frames;
    late_records += slice.late_records;
    lost_side_band += slice.lost_side_band;
    idle_by_task |= slice.idle_by_task;
}

void WindowFacts::add_throttles(std::uint32_t event, const EventTotals& totals) {
    if (event >= throttles.size()) {
        throttles.resize(event + 1);
        throttled.resize(event + 1);
    }
    throttles[event] += totals.throttles;
    throttled[event] += totals.throttled;
}

void WindowFacts::add_arrived(std::uint32_t event, std::uint64_t count) {
    if (event >= arrived.size()) arrived.resize(event + 1);
    arrived[event] += count;
}

void add_warnings(Profile& profile, const std::vector<collector::EventInfo>& events, const WindowFacts& facts) {
    if (!profile.filter.empty()) warn_of_loss(profile, facts);
    warn_of_throttling(profile, facts);
    warn_of_events(profile, events);
    if (profile.maps_suspect) {
        const std::string lost = facts.lost_side_band == 0 ? "Records of processes and mappings may have been lost"
                                                           : count(facts.lost_side_band, "record", "records") +
                                                                 " of processes and mappings were lost";
        profile.warnings.push_back(lost + ": some user functions may have wrong names or none.");
    }
    if (facts.cut_frames > 0) {
        profile.warnings.push_back(count(facts.cut_frames, "frame was", "frames were") +
                                   " dropped from the outer ends of chains to stay within memory.");
    }
    if (facts.late_records > 0) {
        profile.warnings.push_back(count(facts.late_records, "record", "records") +
                                   " came after their slice had been closed and count in the next one.");
    }
    if (facts.idle_by_task) {
        profile.degraded.push_back(
            {.reason = "idle_by_task",
             .detail = "Kernel addresses are hidden, so idle is told from the task alone: interrupt work that the idle "
                       "task is interrupted for counts as idle.",
             .remedy = "Record with CAP_SYSLOG and kernel.kptr_restrict at 0 or 1."});
    }
}

}  // namespace perfvigil::analyzer
