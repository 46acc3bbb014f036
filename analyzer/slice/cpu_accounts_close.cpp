// SPDX-License-Identifier: GPL-2.0-or-later
// The end of a slice: what can be said only when all of its records are in.
#include <algorithm>
#include <utility>

#include "analyzer/ledger.hpp"
#include "analyzer/slice/cpu_accounts.hpp"

namespace perfvigil::analyzer {

using collector::CpuTimes;
using collector::Cut;
using collector::EventIndex;

namespace {

// Within which counters are read after their cut.
constexpr Nanoseconds kReadingDelay = std::chrono::milliseconds(20);

std::uint64_t later_minus_earlier(std::uint64_t later, std::uint64_t earlier) {
    return later > earlier ? later - earlier : 0;
}

CpuTimes difference(const CpuTimes& now, const CpuTimes& before) {
    return {.cpu = now.cpu,
            .user = later_minus_earlier(now.user, before.user),
            .system = later_minus_earlier(now.system, before.system),
            // The kernel's idle and iowait may step back a little (proc(5)).
            .idle = later_minus_earlier(now.idle, before.idle),
            .iowait = later_minus_earlier(now.iowait, before.iowait),
            .irq = later_minus_earlier(now.irq, before.irq),
            .softirq = later_minus_earlier(now.softirq, before.softirq),
            .steal = later_minus_earlier(now.steal, before.steal)};
}

bool says_something(const CpuSlice& cpu) {
    return cpu.clock_recorded || cpu.cycles_recorded || cpu.samples != 0 || cpu.cycles_samples != 0;
}

}  // namespace

void CpuAccounts::set_baseline_times(const std::vector<CpuTimes>& times) {
    for (const auto& row : times) {
        if (Cpu* cpu = cpu_of(row.cpu.value); cpu != nullptr) {
            cpu->times = row;
            cpu->times_known = true;
        }
    }
}

void CpuAccounts::close(const Cut& cut, Slice& slice) {
    learn_events();
    estimate_time(cut);
    estimate_tail(cut);
    settle_losses(cut);
    settle_throttling();
    settle_cycles();
    add_times(cut);
    hand_over(slice);
    open_cpus_.clear();
    open_totals_.clear();
    open_since_ = cut.time;
    for (auto& cpu : cpus_) {
        cpu.ring_lost = 0;
        cpu.ring_lost_time = {};
        cpu.cycles_enabled = {};
        cpu.longest_period = {};
    }
    forget_closed_instances();
}

// A foreign file of whole CPUs has no counter readings. All its CPUs were recorded as long as any of them: from one
// period before the clock's first sample anywhere to its last one. (A CPU's own first and last sample would make a CPU
// that writes no idle samples look busy all the time.) One that was silent until now gets the time since then at once:
// its sum over the capture is right, if not this slice's.
void CpuAccounts::estimate_time(const Cut& cut) {
    if (!clock_ || !first_clock_sample_) return;
    const EventFacts& clock = facts_[clock_->value];
    if (has_readings_ || !clock.whole_cpu_likely || clock.period.count() == 0) return;
    const MonotonicTime first = *first_clock_sample_ - clock.period;
    const MonotonicTime so_far = estimated_until_.value_or(first);
    const MonotonicTime end = std::max(so_far, cut.last ? last_clock_sample_ : cut.time);
    estimated_until_ = end;
    for (std::uint32_t number = 0; number < cpus_.size(); ++number) {
        if (!cpus_[number].has_clock) continue;
        const MonotonicTime start = std::exchange(cpus_[number].estimated, true) ? so_far : first;
        CpuSlice& slice = cpu_slice(number);
        slice.clock_recorded = true;
        slice.time_estimated = true;
        slice.enabled += end - start;
        slice.ticks_due += static_cast<double>((end - start).count()) / static_cast<double>(clock.period.count());
        if (lane_of(cpus_[number], *clock_).throttled) count_throttled(cpus_[number], slice, *clock_, end);
    }
}

// A file of ours may end early, without its last readings. Until its last sample its CPUs were recorded; not those that
// had gone before: their last reading was neither the previous cut's nor a baseline.
void CpuAccounts::estimate_tail(const Cut& cut) {
    if (!cut.last || !clock_ || !has_readings_ || !open_since_) return;
    const EventFacts& clock = facts_[clock_->value];
    for (std::uint32_t number = 0; number < cpus_.size(); ++number) {
        const Lane lane = lane_of(cpus_[number], *clock_);
        if (!clock.sees_all || !lane.read_at) continue;
        const Nanoseconds after_cut = *lane.read_at - *open_since_;
        const Nanoseconds tail = last_clock_sample_ - *lane.read_at;
        if (tail.count() <= 0 || (!lane.baseline && std::chrono::abs(after_cut) > kReadingDelay)) continue;
        CpuSlice& slice = cpu_slice(number);
        slice.clock_recorded = true;
        slice.time_estimated = true;
        slice.enabled += tail;
        slice.ticks_due += static_cast<double>(tail.count()) / static_cast<double>(clock.period.count());
        if (lane.throttled) count_throttled(cpus_[number], slice, *clock_, last_clock_sample_);
    }
}

void CpuAccounts::settle_losses(const Cut& cut) {
    // A ring's LOST counts records of any event: no more of them are the clock's than ticks are missing where it was
    // not throttled.
    for (std::uint32_t number = 0; number < cpus_.size() && clock_; ++number) {
        const std::uint64_t ring_lost = cpus_[number].ring_lost;
        if (ring_lost == 0 || !cpus_[number].has_clock) continue;
        CpuSlice& slice = cpu_slice(number);
        const double silent = to_seconds(slice.throttled) / std::max(1e-9, to_seconds(slice.enabled));
        const double due = slice.ticks_due * std::clamp(1 - silent, 0.0, 1.0);
        const double missing = due - static_cast<double>(slice.samples + slice.lost);
        const std::uint64_t lost = std::min(ring_lost, static_cast<std::uint64_t>(std::max(0.0, missing)));
        slice.lost += lost;
        slice.lost_time +=
            Nanoseconds(static_cast<std::int64_t>(static_cast<double>(cpus_[number].ring_lost_time.count()) *
                                                  static_cast<double>(lost) / static_cast<double>(ring_lost)));
    }
    if (!cut.last) return;
    // perf ended before it could write exact counts; the rings' are what is left.
    for (std::uint32_t i = 0; i < facts_.size(); ++i) {
        if (facts_[i].ring_lost == 0 || facts_[i].lost_by_read || facts_[i].lost_by_records) continue;
        EventTotals& total = totals(EventIndex{i});
        total.lost += facts_[i].ring_lost;
        total.lost_is_shared = true;
    }
}

// Records of throttling get lost like samples. A clock that seems throttled while it lost samples was not: no more time
// than its ticks left can have been.
void CpuAccounts::settle_throttling() {
    for (std::uint32_t number = 0; number < open_cpus_.size(); ++number) {
        CpuSlice& slice = open_cpus_[number];
        if (slice.lost == 0 || slice.throttled.count() == 0) continue;
        Nanoseconds left = slice.enabled - slice.lost_time + 2 * cpus_[number].longest_period;
        for (const Nanoseconds time : slice.mode_time) left -= time;
        slice.throttled = std::clamp(left, Nanoseconds{}, slice.throttled);
    }
}

// Which part of T the cycles counter was read over. Sampled cycles that no reading covers are held against nothing.
void CpuAccounts::settle_cycles() {
    for (std::uint32_t number = 0; number < open_cpus_.size(); ++number) {
        CpuSlice& slice = open_cpus_[number];
        if (!slice.cycles_recorded) continue;
        if (slice.time_estimated && cpus_[number].cycles_enabled.count() == 0) {
            slice.cycles_recorded = false;
            slice.cycles_sampled = 0;
            slice.cycles_samples = 0;
        } else if (slice.clock_recorded) {
            slice.cycles_absent = std::max(Nanoseconds{}, slice.enabled - cpus_[number].cycles_enabled);
        }
    }
}

void CpuAccounts::add_times(const Cut& cut) {
    for (const auto& row : cut.cpu_times) {
        Cpu* cpu = cpu_of(row.cpu.value);
        if (cpu == nullptr) continue;
        if (cpu->times_known) {
            CpuSlice& slice = cpu_slice(row.cpu.value);
            slice.times_known = true;
            slice.times = within_stretch(difference(row, cpu->times), slice, cut);
        }
        cpu->times = row;
        cpu->times_row = cut_number_;
    }
    // A CPU that this cut says nothing of starts anew when it comes back.
    for (auto& cpu : cpus_) cpu.times_known = cpu.times_row == cut_number_;
    ++cut_number_;
}

// The kernel's rows reach from cut to cut. Where a CPU was recorded for a part of that only (its events began late, it
// went and came back), that part has its share of them.
CpuTimes CpuAccounts::within_stretch(const CpuTimes& times, const CpuSlice& slice, const Cut& cut) const {
    if (!open_since_ || !slice.clock_recorded || slice.enabled.count() <= 0) return times;
    const Nanoseconds whole = cut.time - *open_since_;
    if (whole - slice.enabled <= kReadingDelay + whole / 50) return times;
    const std::uint64_t all =
        times.user + times.system + times.idle + times.iowait + times.irq + times.softirq + times.steal;
    if (all <= static_cast<std::uint64_t>(slice.enabled.count())) return times;
    const double share = static_cast<double>(slice.enabled.count()) / static_cast<double>(all);
    const auto part = [share](std::uint64_t time) {
        return static_cast<std::uint64_t>(share * static_cast<double>(time));
    };
    return {.cpu = times.cpu,
            .user = part(times.user),
            .system = part(times.system),
            .idle = part(times.idle),
            .iowait = part(times.iowait),
            .irq = part(times.irq),
            .softirq = part(times.softirq),
            .steal = part(times.steal)};
}

void CpuAccounts::hand_over(Slice& slice) {
    slice.totals.resize(facts_.size());
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        EventTotals& total = slice.totals[i];
        if (i < open_totals_.size()) total = open_totals_[i];
        if (facts_[i].is_time) total.nominal_period = facts_[i].period;
    }
    for (CpuSlice& cpu : open_cpus_) {
        // Without counters there is nothing that sampled cycles could be held against.
        if (!has_readings_) {
            cpu.cycles_recorded = false;
            cpu.cycles_absent = {};
        }
        if (says_something(cpu)) slice.cpus.push_back(cpu);
    }
}

void CpuAccounts::forget_closed_instances() {
    if (readings_.size() <= 2 * events_.instances().size() + 1024) return;
    boost::unordered::erase_if(readings_,
                               [&](const auto& reading) { return events_.find(EventId{reading.first}) == nullptr; });
}

}  // namespace perfvigil::analyzer
