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
    double counted = 0;       // hertz, whatever the CPU did
    double in_idle = 0;       // hertz, at least
    double busy_at_most = 0;  // of its time
};

}  // namespace

void judge_cycles_in_idle(const Tally& tally, Observations& found) {
    std::vector<IdleCounter> counters;
    double cycles = 0;
    double cycles_in_idle = 0;
    for (const auto& cpu : tally.profile().cpus) {
        cycles += static_cast<double>(cpu.sum.cycles_counted);
        const double in_idle = idle_cycles_hertz(cpu.sum);
        if (in_idle <= 0) continue;
        const double time = to_seconds(cpu.sum.enabled);
        const double busy = most_busy(cpu.sum).value_or(1);
        counters.push_back({&cpu, static_cast<double>(cpu.sum.cycles_counted) / time, in_idle, busy});
        cycles_in_idle += in_idle * (1 - busy) * time;
    }
    if (counters.empty() || cycles <= 0) return;
    std::ranges::stable_sort(counters, std::greater{}, &IdleCounter::in_idle);
    const auto& first = counters.front();
    const std::uint32_t number = first.cpu->sum.cpu.value;
    Observation made{
        .id = "cycles_in_idle",
        .severity = Severity::kNotice,
        .at_least = std::min(1.0, cycles_in_idle / cycles),
        .figures = {{"share_low", "", cycles_in_idle / cycles}, {"cpus", "", static_cast<double>(counters.size())}},
        .evidence = fmt::format("CPU {} counted {:.2f} billion cycles a second and was busy at most {} of its time",
                                number, first.counted / 1e9, percent(first.busy_at_most)),
        .meaning =
            "Cycles count in idle here: polling idle or emulation. Cycles are no measure of how busy a CPU was, "
            "and cycles over busy time are no frequency: the effective frequency of such CPUs is not available "
            "unless they were full. Cycles per function are right all the same.",
        .remedy =
            "Take busy from cpu-clock. Where the CPUs poll, let them sleep if latency allows: see idle= on the "
            "kernel command line, cpuidle's states and /dev/cpu_dma_latency."};
    made.evidence += counters.size() == 1 ? "."
                                          : fmt::format("; so did {} in their idle time.",
                                                        number_of(counters.size() - 1, "other CPU", "other CPUs"));
    for (const auto& counter : std::span(counters).first(std::min(kNamed, counters.size()))) {
        const auto name = fmt::format("cpu {}", counter.cpu->sum.cpu.value);
        made.figures.push_back({"counted_hertz", name, counter.counted});
        made.figures.push_back({"idle_hertz_low", name, counter.in_idle});
        made.figures.push_back({"busy_high", name, counter.busy_at_most});
    }
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
