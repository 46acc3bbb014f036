// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/warnings.hpp"

#include <algorithm>
#include <cstdio>

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kCpusNamed = 16;

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
    return text;
}

std::string count(std::uint64_t number, std::string_view one, std::string_view many) {
    return std::to_string(number) + " " + std::string(number == 1 ? one : many);
}

// What was lost has neither process nor time. With a selection the share is of all samples of the slices that the
// selection touches, as the losses are.
void warn_of_loss(Profile& profile, const WindowFacts& facts) {
    for (std::size_t i = 0; i < profile.events.size(); ++i) {
        const auto& event = profile.events[i];
        if (event.lost == 0) continue;
        const std::uint64_t arrived = i < facts.arrived.size() ? facts.arrived[i] : event.samples;
        const std::uint64_t all = arrived + event.lost;
        const double share = static_cast<double>(event.lost) / static_cast<double>(all);
        if (share <= kUnreliableLoss) continue;
        const std::string what = event.lost_is_shared
                                     ? "Records were lost in the rings that hold " + event.name + ": " +
                                           std::to_string(event.lost) + " of any kind, against " +
                                           count(arrived, "sample", "samples") + " that arrived"
                                     : percent(share) + " of the " + event.name + " samples were lost (" +
                                           std::to_string(event.lost) + " of " + std::to_string(all) + ")";
        profile.warnings.push_back(what +
                                   ". This profile is unreliable: the functions with the highest rates are the most "
                                   "undercounted.");
    }
}

void warn_of_coverage(Profile& profile) {
    std::string list;
    std::size_t found = 0;
    for (const auto& cpu : profile.cpus) {
        if (!cpu.busy.known || cpu.busy.coverage >= kFullCoverage) continue;
        if (++found > kCpusNamed) continue;
        if (!list.empty()) list += ", ";
        list += "CPU " + std::to_string(cpu.sum.cpu.value) + " (" + percent(cpu.busy.coverage) + ")";
    }
    if (found == 0) return;
    if (found > kCpusNamed) list += " and " + std::to_string(found - kCpusNamed) + " more";
    profile.warnings.push_back("Fewer clock samples than ticks due on " + list +
                               ". Busy is computed from the ticks due; the clock ledger says what is known of the "
                               "missing time.");
}

void warn_of_throttling(Profile& profile, const WindowFacts& facts) {
    Nanoseconds silent{};
    for (const auto& cpu : profile.cpus) silent += cpu.sum.throttled;
    for (std::size_t i = 0; i < profile.events.size() && i < facts.throttles.size(); ++i) {
        const auto& event = profile.events[i];
        if (facts.throttles[i] == 0) continue;
        std::string text = "The kernel throttled " + event.name + " " + count(facts.throttles[i], "time", "times");
        if (event.unit == WeightUnit::kNanoseconds && silent.count() > 0) {
            char seconds[48];
            std::snprintf(seconds, sizeof seconds, " (%.3f s without samples)", to_seconds(silent));
            text += seconds;
        }
        profile.warnings.push_back(text + ": what ran then is missing from the samples.");
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
    profile.warnings.emplace_back(
        "This recording holds cpu-clock twice, as perf writes it where cycles are not available: the two are the same "
        "measurement, and comparing them says nothing.");
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

void WindowFacts::add_throttles(std::uint32_t event, std::uint64_t count) {
    if (event >= throttles.size()) throttles.resize(event + 1);
    throttles[event] += count;
}

void WindowFacts::add_arrived(std::uint32_t event, std::uint64_t count) {
    if (event >= arrived.size()) arrived.resize(event + 1);
    arrived[event] += count;
}

void add_warnings(Profile& profile, const std::vector<collector::EventInfo>& events, const WindowFacts& facts) {
    warn_of_loss(profile, facts);
    warn_of_coverage(profile);
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
