// SPDX-License-Identifier: GPL-2.0-or-later
// idle_from_cycles, idle_from_samples: the swapper's share is not idle time, in either event.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/kernel_accounts.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

// Under a twentieth nobody would read idle from it.
constexpr double kReadable = 0.05;
// With more of the time lost or throttled nobody knows what the CPUs did in it.
constexpr double kSilent = 0.05;
// Closer than that, the wrong way of reading gives nearly the right answer.
constexpr double kMisleads = 0.1;

// The share of all CPUs' time that was not busy, by the ticks due. Absent where idle CPUs may simply not have been
// recorded (without counter readings, some idle sample must show that they were) and where the clock was silent for
// long.
std::optional<double> not_busy(const Profile& profile) {
    double total = 0;
    double busy = 0;
    double idle_samples = 0;
    double silent = 0;
    bool estimated = false;
    for (const auto& cpu : profile.cpus) {
        if (!cpu.busy.known) continue;
        const auto time = static_cast<double>(cpu.sum.enabled.count());
        total += time;
        busy += time * cpu.busy.ratio;
        idle_samples += static_cast<double>(cpu.sum.idle_samples);
        silent += static_cast<double>((cpu.sum.lost_time + silent_time(cpu.sum)).count());
        estimated |= cpu.sum.time_estimated;
    }
    if (total <= 0 || silent > kSilent * total || (estimated && idle_samples == 0)) return std::nullopt;
    return std::clamp(1 - busy / total, 0.0, 1.0);
}

struct SwapperShare {
    const ProfileEvent* event;
    double ratio;
};

std::vector<SwapperShare> swapper_shares(const Tally& tally, WeightUnit unit) {
    std::vector<SwapperShare> shares;
    for (std::uint32_t i = 0; i < tally.profile().events.size(); ++i) {
        const auto& event = tally.profile().events[i];
        if (event.unit != unit || event.weight == 0) continue;
        const auto part = static_cast<double>(tally.swapper(i).weight);
        shares.push_back({&event, std::min(1.0, part / static_cast<double>(event.weight))});
    }
    return shares;
}

void judge_cycles(const Tally& tally, std::optional<double> idle, Observations& found) {
    const auto clocks = swapper_shares(tally, WeightUnit::kNanoseconds);
    for (const auto& [event, ratio] : swapper_shares(tally, WeightUnit::kCycles)) {
        if (ratio < kReadable) continue;
        Observation made{.id = "idle_from_cycles",
                         .severity = idle ? Severity::kInfo : Severity::kNotice,
                         .at_least = ratio,
                         .figures = {{"swapper_share", event->name, ratio}},
                         .evidence = fmt::format("swapper has {} of {}", percent(ratio), event->name),
                         .meaning =
                             "Cycles stop while a CPU halts and run on while it polls, so this is what the idle "
                             "loop and interrupts in it cost: neither idle time nor the share of idle CPUs.",
                         .remedy = {}};
        if (idle) {
            made.remedy = "Read idle from the CPUs' busy; leave swapper out where you rank by cycles.";
        } else if (clocks.empty()) {
            made.remedy = "Record cpu-clock beside cycles to learn how busy the CPUs were.";
        } else {
            made.remedy =
                "Record cpu-clock at a lower frequency and of whole CPUs: this one does not tell how busy they "
                "were.";
        }
        for (const auto& clock : clocks) {
            made.evidence += fmt::format(", {} of {}", percent(clock.ratio), clock.event->name);
            made.figures.push_back({"swapper_share", clock.event->name, clock.ratio});
        }
        if (idle) {
            made.evidence += fmt::format("; by the ticks due the CPUs were not busy {} of the time", percent(*idle));
            made.figures.push_back({"not_busy", "", *idle});
        }
        made.evidence += ".";
        found.push_back(std::move(made));
    }
}

void judge_clock(const Tally& tally, std::optional<double> idle, Observations& found) {
    const auto clocks = swapper_shares(tally, WeightUnit::kNanoseconds);
    if (!idle || clocks.empty()) return;
    const auto& [event, ratio] = clocks.front();
    if (std::abs(ratio - *idle) < kMisleads) return;
    found.push_back({.id = "idle_from_samples",
                     .severity = Severity::kInfo,
                     .at_least = std::abs(ratio - *idle),
                     .figures = {{"swapper_share", event->name, ratio}, {"not_busy", "", *idle}},
                     .evidence = fmt::format("swapper has {} of the {} samples, but by the ticks due the CPUs were not "
                                             "busy {} of the time.",
                                             percent(ratio), event->name, percent(*idle)),
                     .meaning = "Not every tick of an idle CPU need leave a sample, and interrupts that come while it "
                                "idles are swapper's samples too: its share of samples is not idle time.",
                     .remedy = "Read idle from the CPUs' busy, which is computed from the ticks due."});
}

}  // namespace

void judge_idle_share(const Tally& tally, Observations& found) {
    if (!tally.profile().filter.empty()) return;  // shares of a part say nothing about CPUs
    const auto idle = not_busy(tally.profile());
    judge_cycles(tally, idle, found);
    judge_clock(tally, idle, found);
}

}  // namespace perfvigil::analyzer
