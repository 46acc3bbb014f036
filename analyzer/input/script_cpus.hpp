// SPDX-License-Identifier: GPL-2.0-or-later
// What the CPUs did, by the samples of a clock in a text of perf script: as for perf.data files without counter
// readings, all CPUs were recorded from one period before the first sample to the last one. That whole CPUs were
// recorded, not one program, is shown by a sample of the idle task. Knows times, CPUs and modes, no lines.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/ledger.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/sample_filter.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

class ScriptCpus {
public:
    // `mode` is absent where nothing says what was running.
    void add(const SampleMarks& sample, std::optional<Mode> mode, bool swapper);
    // A sample that a selection leaves out: the recording reaches as far all the same.
    void leave_out(const SampleMarks& sample, bool swapper);
    // Records of any event that were lost on this CPU: no more of them count as the clock's than its ticks are missing.
    void lose(CpuId cpu, std::uint64_t records);

    // Two recordings of one clock count each tick twice, and a text does not tell them apart.
    [[nodiscard]] bool more_than_due(Nanoseconds period) const;
    // By ascending CPU; none where a sample lacks its time, its CPU or its mode, where there are more than are due, and
    // where the idle task has none.
    [[nodiscard]] std::vector<ProfileCpu> build(Nanoseconds period) const;

private:
    static constexpr std::uint32_t kMaxCpus = 8192;  // CONFIG_NR_CPUS

    struct Ticks {
        std::array<std::uint64_t, kModes> by_mode{};
        std::uint64_t irq_in_idle = 0;
        std::uint64_t lost = 0;
        [[nodiscard]] std::uint64_t samples() const;
    };
    void note_time(const SampleMarks& sample);
    [[nodiscard]] Ticks* ticks_of(std::optional<CpuId> cpu);
    [[nodiscard]] double due(Nanoseconds period) const;
    [[nodiscard]] ProfileCpu cpu_of(std::uint32_t number, Nanoseconds period) const;

    std::vector<Ticks> cpus_;  // by number
    std::optional<MonotonicTime> first_;
    MonotonicTime last_{};
    bool complete_ = true;
    bool idle_task_seen_ = false;
};

}  // namespace perfvigil::analyzer
