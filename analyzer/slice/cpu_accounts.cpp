// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/cpu_accounts.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

using collector::EventIndex;
using collector::EventInstance;
using collector::OrderedRecord;

namespace {

Nanoseconds period_in(const EventInstance& instance, Nanoseconds newest) {
    return instance.nominal_period.count() > 0 ? instance.nominal_period : newest;
}

std::uint64_t later_minus_earlier(std::uint64_t later, std::uint64_t earlier) {
    return later > earlier ? later - earlier : 0;
}

double ticks(Nanoseconds time, Nanoseconds period) {
    return period.count() > 0 ? static_cast<double>(time.count()) / static_cast<double>(period.count()) : 0;
}

// How much an event counted in a time in which it ran only partly.
std::uint64_t scaled(std::uint64_t value, std::uint64_t enabled, std::uint64_t running) {
    return static_cast<std::uint64_t>(static_cast<double>(value) * static_cast<double>(enabled) /
                                      static_cast<double>(running));
}

}  // namespace

std::optional<CpuId> cpu_of(const EventInstance& instance, const collector::SampleId& id) {
    if (instance.cpu) return instance.cpu;
    if (id.has(collector::kSampleCpu)) return id.cpu;
    return std::nullopt;
}

// --- places

void CpuAccounts::learn_events() {
    const auto& events = events_.events();
    for (std::size_t i = facts_.size(); i < events.size(); ++i) {
        const auto& attr = events[i].attr;
        const bool sampling = events[i].role == collector::EventRole::kSampling;
        EventFacts facts;
        facts.period = events[i].nominal_period();
        facts.is_time = facts.period.count() > 0;
        facts.sees_all = !attr.flag(collector::kFlagExcludeKernel) && !attr.flag(collector::kFlagExcludeUser);
        facts.whole_cpu_likely =
            facts.sees_all && attr.has(collector::kSampleCpu) && !attr.flag(collector::kFlagEnableOnExec);
        // In frequency mode without PERIOD the weight is unknown; perf takes the frequency for it, and shares come out
        // the same.
        facts.fallback_weight = std::max<std::uint64_t>(1, attr.sample_period_or_freq);
        if (sampling && attr.is_cpu_clock()) {
            // Of several the first that sees user and kernel.
            const bool better = !clock_ || (facts.sees_all && !facts_[clock_->value].sees_all);
            if (better && clock_) facts_[clock_->value].kind = Kind::kOther;
            if (better) clock_ = EventIndex{static_cast<std::uint32_t>(i)};
            facts.kind = better ? Kind::kClock : Kind::kOther;
        } else if (sampling && attr.type == collector::kTypeHardware &&
                   (attr.config & 0xffffffffU) == collector::kHwCpuCycles) {
            facts.kind = Kind::kCycles;  // the upper half names one of several PMUs (hybrid CPUs)
        }
        facts_.push_back(facts);
    }
}

CpuAccounts::EventFacts& CpuAccounts::facts(EventIndex event) {
    if (event.value >= facts_.size()) learn_events();
    return facts_[event.value];
}

CpuAccounts::Cpu* CpuAccounts::cpu_of(std::uint32_t number) {
    if (number >= kMaxCpus) return nullptr;
    if (number >= cpus_.size()) cpus_.resize(number + 1);
    return &cpus_[number];
}

CpuAccounts::Lane& CpuAccounts::lane_of(Cpu& cpu, EventIndex event) {
    if (event.value >= cpu.lanes.size()) cpu.lanes.resize(event.value + 1);
    return cpu.lanes[event.value];
}

CpuSlice& CpuAccounts::cpu_slice(std::uint32_t number) {
    if (number >= open_cpus_.size()) open_cpus_.resize(number + 1);
    open_cpus_[number].cpu = CpuId{number};
    return open_cpus_[number];
}

EventTotals& CpuAccounts::totals(EventIndex event) {
    if (event.value >= open_totals_.size()) open_totals_.resize(event.value + 1);
    return open_totals_[event.value];
}

// --- records

std::uint64_t CpuAccounts::sample(const OrderedRecord& record, const collector::SampleRecord& sample, Mode mode) {
    const EventInstance& instance = *record.event;
    EventFacts& event = facts(instance.event);
    note_generation(event, instance);
    const Nanoseconds period = period_in(instance, event.period);
    const std::uint64_t weight = weight_of(event, instance, sample);

    const auto number = analyzer::cpu_of(instance, sample.sample);
    if (Cpu* cpu = number ? cpu_of(number->value) : nullptr; cpu != nullptr) {
        CpuSlice& slice = cpu_slice(number->value);
        if (event.kind == Kind::kClock) {
            cpu->has_clock = true;
            slice.clock_recorded |= instance.cpu.has_value() && event.sees_all;
            ++slice.samples;
            slice.idle_samples += mode == Mode::kIdle ? 1 : 0;
            slice.mode_time[index_of(mode)] += period;
            if (mode == Mode::kSoftirq && sample.sample.tid.value == 0) slice.irq_in_idle += period;
        } else if (counts_cycles(*cpu, instance.event)) {
            slice.cycles_recorded = true;
            slice.cycles_sampled += weight;
            ++slice.cycles_samples;
            slice.cycles_idle += mode == Mode::kIdle ? weight : 0;
        }
        end_throttling_by_sample(*cpu, slice, instance, record.time, event.is_time ? period : Nanoseconds{});
    }
    note_clock_sample(event, record.time);
    EventTotals& total = totals(instance.event);
    ++total.samples;
    total.weight += weight;
    return weight;
}

void CpuAccounts::leave_out(const OrderedRecord& record, const collector::SampleRecord& sample) {
    const EventInstance& instance = *record.event;
    EventFacts& event = facts(instance.event);
    note_generation(event, instance);
    note_clock_sample(event, record.time);
    EventTotals& total = totals(instance.event);
    ++total.left_out_samples;
    total.left_out_weight += weight_of(event, instance, sample);
}

std::uint64_t CpuAccounts::weight_of(const EventFacts& event, const EventInstance& instance,
                                     const collector::SampleRecord& sample) {
    if (event.is_time) return static_cast<std::uint64_t>(period_in(instance, event.period).count());
    return sample.period != 0 ? sample.period : event.fallback_weight;
}

void CpuAccounts::note_clock_sample(const EventFacts& event, MonotonicTime time) {
    if (event.kind != Kind::kClock) return;
    if (!first_clock_sample_) first_clock_sample_ = time;
    last_clock_sample_ = std::max(last_clock_sample_, time);
}

void CpuAccounts::note_generation(EventFacts& event, const EventInstance& instance) {
    if (instance.generation < event.newest_generation || instance.nominal_period.count() == 0) return;
    event.newest_generation = instance.generation;
    event.period = instance.nominal_period;
}

void CpuAccounts::read(const OrderedRecord& record, const collector::ReadRecord& read) {
    for (std::size_t i = 0; i < read.read.size(); ++i) {
        const collector::CounterValue member = read.read[i];
        const EventInstance* instance = member.id.value != 0 ? events_.find(member.id) : nullptr;
        if (instance == nullptr && i == 0) instance = record.event;
        if (instance == nullptr) continue;
        // `perf record -s` writes one READ per task that ends, all under the same id: no series of one counter.
        if (events_.event(instance->event).attr.flag(collector::kFlagInheritStat)) continue;
        EventFacts& event = facts(instance->event);
        note_generation(event, *instance);
        event.lost_by_read |= (read.read.read_format & collector::kReadLost) != 0;
        event.whole_cpu_likely &= instance->cpu.has_value();
        has_readings_ = true;
        read_member(record.time, *instance, read.read, member);
    }
}

void CpuAccounts::read_member(MonotonicTime time, const EventInstance& instance, const collector::ReadView& view,
                              const collector::CounterValue& member) {
    // Where READ names no id the place must do: bit 63 keeps such keys apart from the kernel's small numbers.
    const std::uint64_t place = (std::uint64_t{1} << 63U) | (std::uint64_t{instance.event.value} << 32U) |
                                (instance.generation << 16U) | (instance.cpu ? instance.cpu->value : 0xffffU);
    const auto [at, unseen] = readings_.try_emplace(member.id.value != 0 ? member.id.value : place);
    Reading& last = at->second;
    const Reading now{.value = member.value,
                      .enabled = view.time_enabled,
                      .running = view.time_running,
                      .lost = member.lost,
                      .counted_from = time};

    if (!open_since_) open_since_ = time;
    Cpu* cpu = instance.cpu ? cpu_of(instance.cpu->value) : nullptr;
    const bool baseline = unseen || now.enabled < last.enabled;
    if (cpu != nullptr) {
        Lane& lane = lane_of(*cpu, instance.event);
        lane.read_at = time;
        lane.baseline = baseline;
        (void)counts_cycles(*cpu, instance.event);
        // The CPU was away: what its instance before was throttled for has been counted by that one's last READ.
        if (baseline && lane.throttled && lane.throttled->generation == instance.generation) lane.throttled.reset();
    }
    if (!baseline) {
        totals(instance.event).lost += later_minus_earlier(now.lost, last.lost);
        if (cpu != nullptr) add_stretch(*cpu, cpu_slice(instance.cpu->value), instance, last, now);
    }
    last = now;
    last.fresh = baseline;
}

void CpuAccounts::add_stretch(Cpu& cpu, CpuSlice& slice, const EventInstance& instance, const Reading& from,
                              const Reading& to) {
    const EventFacts& event = facts(instance.event);
    Lane& lane = lane_of(cpu, instance.event);
    const std::uint64_t lost = later_minus_earlier(to.lost, from.lost);
    Nanoseconds enabled{static_cast<std::int64_t>(to.enabled - from.enabled)};
    if (event.kind == Kind::kClock) {
        if (from.fresh && lane.counted_until > from.counted_from) {
            enabled = std::max(Nanoseconds{}, enabled - (lane.counted_until - from.counted_from));
        }
        lane.counted_until = std::max(lane.counted_until, to.counted_from);
        const Nanoseconds period = period_in(instance, event.period);
        cpu.has_clock = true;
        cpu.longest_period = std::max(cpu.longest_period, period);
        slice.clock_recorded |= event.sees_all;
        slice.enabled += enabled;
        slice.ticks_due += ticks(enabled, period);
        slice.lost += lost;
        slice.lost_time += static_cast<std::int64_t>(lost) * period;
    } else if (counts_cycles(cpu, instance.event)) {
        const std::uint64_t running = later_minus_earlier(to.running, from.running);
        const std::uint64_t value = later_minus_earlier(to.value, from.value);
        const auto whole = static_cast<std::uint64_t>(enabled.count());
        slice.cycles_recorded = true;
        slice.cycles_scaled |= running < whole;
        slice.cycles_counted += running != 0 && running < whole ? scaled(value, whole, running) : value;
        slice.cycles_lost += lost;
        cpu.cycles_enabled += enabled;
    }
    if (lane.throttled && lane.throttled->generation < instance.generation) lane.throttled.reset();
    if (lane.throttled && lane.throttled->generation == instance.generation)
        count_throttled(cpu, slice, instance.event, to.counted_from);
}

// Two events may count cycles (of several precisions), and their counts together are no CPU's: the first one read has
// it.
bool CpuAccounts::counts_cycles(Cpu& cpu, EventIndex event) {
    if (facts(event).kind != Kind::kCycles) return false;
    if (!cpu.cycles) cpu.cycles = event;
    return *cpu.cycles == event;
}

void CpuAccounts::throttle(const OrderedRecord& record, const collector::ThrottleRecord& throttle) {
    const EventInstance& instance = *record.event;
    if (throttle.throttled) ++totals(instance.event).throttles;
    const auto number = analyzer::cpu_of(instance, throttle.sample);
    Cpu* cpu = number ? cpu_of(number->value) : nullptr;
    if (cpu == nullptr) return;
    Lane& lane = lane_of(*cpu, instance.event);
    const bool under_way = lane.throttled && lane.throttled->generation == instance.generation;
    if (throttle.throttled) {
        if (!under_way) lane.throttled = {instance.generation, record.time, record.time};
    } else if (under_way) {
        count_throttled(*cpu, cpu_slice(number->value), instance.event, record.time);
        lane.throttled.reset();
    }
}

void CpuAccounts::count_throttled(Cpu& cpu, CpuSlice& slice, EventIndex event, MonotonicTime until) {
    Throttling& throttling = *lane_of(cpu, event).throttled;
    const Nanoseconds more = std::max(Nanoseconds{}, until - throttling.counted_until);
    throttling.counted_until += more;
    totals(event).throttled += more;
    if (facts(event).kind == Kind::kClock)
        slice.throttled += more;
    else if (counts_cycles(cpu, event))
        slice.cycles_throttled += more;
}

// An event that is throttled is silent but for the sample that made it so, which comes right after the record. Another
// one means that its UNTHROTTLE was lost: a clock has then run for a period, of others only the latest end is known.
void CpuAccounts::end_throttling_by_sample(Cpu& cpu, CpuSlice& slice, const EventInstance& instance, MonotonicTime time,
                                           Nanoseconds period) {
    auto& throttled = lane_of(cpu, instance.event).throttled;
    if (!throttled || throttled->generation != instance.generation) return;
    const bool own = period.count() > 0 ? time - throttled->began <= period / 2 : !throttled->sampled;
    throttled->sampled = true;
    if (own) return;
    count_throttled(cpu, slice, instance.event, time - period);
    throttled.reset();
}

// What a lost record of this ring's stood for, if it was the clock's.
Nanoseconds CpuAccounts::clock_period(const EventInstance& instance) const {
    if (instance.nominal_period.count() > 0) return instance.nominal_period;
    return clock_ ? facts_[clock_->value].period : Nanoseconds{};
}

void CpuAccounts::lost(const OrderedRecord& record, const collector::LostRecord& lost) {
    const EventInstance& instance = *record.event;
    EventFacts& event = facts(instance.event);
    if (event.lost_by_read) return;
    if ((events_.event(instance.event).attr.read_format & collector::kReadLost) != 0) {
        event.ring_lost += lost.lost;  // perf will say it exactly, by LOST_SAMPLES at the file's end
        return;
    }
    EventTotals& total = totals(instance.event);
    total.lost += lost.lost;
    total.lost_is_shared = true;
    const auto number = analyzer::cpu_of(instance, lost.sample);
    Cpu* cpu = number ? cpu_of(number->value) : nullptr;
    if (cpu == nullptr) return;
    cpu->ring_lost += lost.lost;
    cpu->ring_lost_time += static_cast<std::int64_t>(lost.lost) * clock_period(instance);
}

void CpuAccounts::lost_samples(const OrderedRecord& record, const collector::LostSamplesRecord& lost) {
    const EventInstance& instance = *record.event;
    EventFacts& event = facts(instance.event);
    if (lost.by_filter || event.lost_by_read) return;
    event.lost_by_records = true;
    totals(instance.event).lost += lost.lost;
    const auto number = analyzer::cpu_of(instance, lost.sample);
    if (!number || cpu_of(number->value) == nullptr) return;
    CpuSlice& slice = cpu_slice(number->value);
    if (event.kind == Kind::kClock) {
        slice.lost += lost.lost;
        slice.lost_time += static_cast<std::int64_t>(lost.lost) * event.period;
    } else if (counts_cycles(*cpu_of(number->value), instance.event)) {
        slice.cycles_lost += lost.lost;
    }
}

}  // namespace perfvigil::analyzer
