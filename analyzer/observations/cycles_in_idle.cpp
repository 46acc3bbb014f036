// SPDX-License-Identifier: GPL-2.0-or-later
// cycles_in_idle: the counter runs on while CPUs are idle.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/idle_cycles.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kNamed = 8;

struct IdleCounter {
    const ProfileCpu* cpu;
    IdleCycles idle;
    double counted = 0;  // hertz, whatever the CPU did
};

std::string evidence_of(const IdleCounter& counter) {
    const auto& [cpu, idle, counted] = counter;
    const auto number = cpu->sum.cpu.value;
    return fmt::format(
        "CPU {} counted {:.2f} billion cycles a second{} and was busy at most {} of its time", number, counted / 1e9,
        idle.by_samples ? fmt::format(", {} of them in the idle loop,", percent(cycles_idle_share(cpu->sum))) : "",
        percent(idle.busy_at_most));
}

}  // namespace

void judge_cycles_in_idle(const Tally& tally, Observations& found) {
    std::vector<IdleCounter> counters;
    double cycles = 0;
    double cycles_in_idle = 0;
    // Told from the task alone, idle holds the interrupts' work.
    const bool idle_by_task =
        std::ranges::any_of(tally.profile().degraded, [](const auto& mode) { return mode.reason == "idle_by_task"; });
    for (const auto& cpu : tally.profile().cpus) {
        const auto counted = static_cast<double>(cpu.sum.cycles_counted);
        cycles += counted;
        const IdleCycles idle = idle_cycles(cpu.sum);
        if (idle.hertz <= 0 || (idle.by_samples && idle_by_task)) continue;
        counters.push_back({&cpu, idle, counted / to_seconds(cpu.sum.enabled)});
        cycles_in_idle += idle.share * counted;
    }
    if (counters.empty() || cycles <= 0) return;
    std::ranges::stable_sort(counters, std::greater{}, [](const IdleCounter& counter) { return counter.idle.hertz; });
    Observation made{
        .id = "cycles_in_idle",
        .severity = Severity::kNotice,
        .at_least = std::min(1.0, cycles_in_idle / cycles),
        .figures = {{"share_low", "", cycles_in_idle / cycles}, {"cpus", "", static_cast<double>(counters.size())}},
        .evidence = evidence_of(counters.front()),
        .meaning =
            "Cycles count in idle here: polling idle or emulation. Cycles are no measure of how busy a CPU was. Its "
            "effective frequency leaves out what samples in idle stand for, and is not available where they do not "
            "tell. Cycles per function are right all the same.",
        .remedy =
            "Take busy from cpu-clock. Where the CPUs poll, let them sleep if latency allows: see idle= on the "
            "kernel command line, cpuidle's states and /dev/cpu_dma_latency."};
    made.evidence += counters.size() == 1 ? "."
                                          : fmt::format("; so did {} in their idle time.",
                                                        number_of(counters.size() - 1, "other CPU", "other CPUs"));
    for (const auto& counter : std::span(counters).first(std::min(kNamed, counters.size()))) {
        const auto name = fmt::format("cpu {}", counter.cpu->sum.cpu.value);
        made.figures.push_back({"counted_hertz", name, counter.counted});
        made.figures.push_back({"idle_hertz_low", name, counter.idle.hertz});
        made.figures.push_back({"busy_high", name, counter.idle.busy_at_most});
    }
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
