// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/script_cpus.hpp"

#include <algorithm>
#include <numeric>

namespace perfvigil::analyzer {
namespace {

// Jitter of the timer and the ends of the stretch.
constexpr double kFewTicks = 8;
constexpr double kTooMany = 1.2;

}  // namespace

std::uint64_t ScriptCpus::Ticks::samples() const {
    return std::accumulate(by_mode.begin(), by_mode.end(), std::uint64_t{0});
}

void ScriptCpus::note_time(const SampleMarks& sample) {
    if (!sample.time) {
        complete_ = false;
        return;
    }
    first_ = std::min(first_.value_or(*sample.time), *sample.time);
    last_ = std::max(last_, *sample.time);
}

ScriptCpus::Ticks* ScriptCpus::ticks_of(std::optional<CpuId> cpu) {
    if (!cpu || cpu->value >= kMaxCpus) return nullptr;
    if (cpu->value >= cpus_.size()) cpus_.resize(cpu->value + 1);
    return &cpus_[cpu->value];
}

void ScriptCpus::add(const SampleMarks& sample, std::optional<Mode> mode, bool swapper) {
    note_time(sample);
    idle_task_seen_ |= swapper;
    Ticks* ticks = ticks_of(sample.cpu);
    if (ticks == nullptr || !mode) {
        complete_ = false;
        return;
    }
    ++ticks->by_mode[index_of(*mode)];
    ticks->irq_in_idle += swapper && *mode == Mode::kSoftirq ? 1 : 0;
}

void ScriptCpus::leave_out(const SampleMarks& sample, bool swapper) {
    note_time(sample);
    idle_task_seen_ |= swapper;
}

void ScriptCpus::lose(CpuId cpu, std::uint64_t records) {
    if (Ticks* ticks = ticks_of(cpu); ticks != nullptr) ticks->lost += records;
}

double ScriptCpus::due(Nanoseconds period) const {
    if (!first_ || period.count() <= 0) return 0;
    return static_cast<double>((last_ - *first_ + period).count()) / static_cast<double>(period.count());
}

bool ScriptCpus::more_than_due(Nanoseconds period) const {
    if (period.count() <= 0) return false;
    const double most = kTooMany * due(period) + kFewTicks;
    return std::ranges::any_of(cpus_, [&](const Ticks& cpu) { return static_cast<double>(cpu.samples()) > most; });
}

ProfileCpu ScriptCpus::cpu_of(std::uint32_t number, Nanoseconds period) const {
    const Ticks& ticks = cpus_[number];
    ProfileCpu cpu;
    CpuSlice& sum = cpu.sum;
    sum.cpu = CpuId{number};
    sum.clock_recorded = true;
    sum.time_estimated = true;
    sum.enabled = last_ - *first_ + period;
    sum.ticks_due = due(period);
    sum.samples = ticks.samples();
    sum.idle_samples = ticks.by_mode[index_of(Mode::kIdle)];
    const auto time_of = [&](std::uint64_t count) { return static_cast<std::int64_t>(count) * period; };
    for (std::size_t mode = 0; mode < kModes; ++mode) sum.mode_time[mode] = time_of(ticks.by_mode[mode]);
    sum.irq_in_idle = time_of(ticks.irq_in_idle);
    const double missing = std::max(0.0, sum.ticks_due - static_cast<double>(sum.samples));
    sum.lost = std::min(ticks.lost, static_cast<std::uint64_t>(missing));
    sum.lost_time = time_of(sum.lost);
    cpu.ledger = clock_ledger(sum);
    cpu.busy = busy_of(sum);
    return cpu;
}

std::vector<ProfileCpu> ScriptCpus::build(Nanoseconds period) const {
    std::vector<ProfileCpu> cpus;
    if (!complete_ || !idle_task_seen_ || !first_ || period.count() <= 0 || more_than_due(period)) return cpus;
    for (std::uint32_t number = 0; number < cpus_.size(); ++number) {
        if (cpus_[number].samples() != 0) cpus.push_back(cpu_of(number, period));
    }
    return cpus;
}

}  // namespace perfvigil::analyzer
