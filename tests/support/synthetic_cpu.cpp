// SPDX-License-Identifier: GPL-2.0-or-later
// One CPU of a SyntheticStream: its states, ticks, samples and counters.
#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "tests/support/synthetic_parts.hpp"

namespace perfvigil::test {
namespace {

using State = SyntheticState;

constexpr Nanoseconds kMeanState = std::chrono::milliseconds(2);
constexpr std::uint64_t kLeaf = 0x10;    // where in its function a sampled instruction lies
constexpr std::uint64_t kReturn = 0x41;  // … and a return address: right behind its call

bool is_task(State state) { return state == State::kUser || state == State::kKernel || state == State::kSoftirq; }

// Counts cycles: the CPU is not halted.
bool runs(State state, bool polling) {
    return is_task(state) || state == State::kIrqInIdle || (polling && state == State::kIdle);
}

}  // namespace

SyntheticTruth& SyntheticTruth::operator+=(const SyntheticTruth& more) {
    cpu = more.cpu;
    enabled += more.enabled;
    task += more.task;
    idle += more.idle;
    irq_in_idle += more.irq_in_idle;
    stolen += more.stolen;
    samples += more.samples;
    idle_samples += more.idle_samples;
    irq_in_idle_samples += more.irq_in_idle_samples;
    lost += more.lost;
    removed += more.removed;
    throttled += more.throttled;
    idle_unsampled += more.idle_unsampled;
    stolen_ticks += more.stolen_ticks;
    lost_said += more.lost_said;
    ticks_due += more.ticks_due;
    throttled_time += more.throttled_time;
    cycles_throttled += more.cycles_throttled;
    cycles += more.cycles;
    cycles_in_idle += more.cycles_in_idle;
    cycles_sampled += more.cycles_sampled;
    cycles_idle += more.cycles_idle;
    cycles_lost += more.cycles_lost;
    weights.busy += more.weights.busy;
    weights.idle += more.weights.idle;
    weights.irq_in_idle += more.weights.irq_in_idle;
    weights.lost += more.weights.lost;
    weights.lost_said += more.weights.lost_said;
    weights.removed += more.weights.removed;
    weights.idle_unsampled += more.weights.idle_unsampled;
    weights.stolen += more.weights.stolen;
    longest_period = std::max(longest_period, more.longest_period);
    return *this;
}

void SyntheticStream::make_cpu_slice(std::size_t number, MonotonicTime from, MonotonicTime to,
                                     std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    for (MonotonicTime time = from; time < to;) {
        apply_changes(number, time, to, out);
        MonotonicTime until = std::min(to, next_change(cpu, time, to));
        if (!cpu.present) {
            time = until;
            continue;
        }
        if (cpu.state_until <= time) next_state(cpu, time);
        until = std::min(until, cpu.state_until);
        if (cpu.recorded && cpu.next_tick < until) {
            spend(cpu, cpu.next_tick - time);
            time = cpu.next_tick;
            tick(number, time, to, out);
            cpu.next_tick += cpu.period();
        } else {
            spend(cpu, until - time);
            time = until;
        }
    }
}

// What becomes of the CPU and its events at `time`: it leaves and comes back, they begin, are replaced, are throttled.
void SyntheticStream::apply_changes(std::size_t number, MonotonicTime time, MonotonicTime slice_end,
                                    std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    const bool away =
        cpu.facts.offline && time >= start_ + cpu.facts.offline->first && time < start_ + cpu.facts.offline->second;
    if (cpu.present && away) {
        if (cpu.recorded) close_cpu(number, time, out);
        cpu.present = false;
    } else if (!cpu.present && !away) {
        cpu.present = true;
        cpu.state_until = time;
        cpu.opens_at = time + cpu.facts.noticed;
    }
    if (cpu.present && !cpu.recorded && time >= cpu.opens_at) {
        open_cpu(number, time);
        read_cpu(number, time, out);
    }
    if (cpu.recorded && cpu.rate.generation != rate_at(time).generation) replace_events(number, time, out);
    change_throttling(number, time, slice_end, out);
}

void SyntheticStream::change_throttling(std::size_t number, MonotonicTime time, MonotonicTime slice_end,
                                        std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    const auto change = [&](std::optional<MonotonicTime>& since, const Stretch& stretch, EventId id,
                            Nanoseconds& throttled) {
        if (cpu.recorded && !since && time == stretch.from && stretch.from < stretch.to) {
            throttle(number, id, time, true, out);
            since = time;
            return true;
        }
        if (since && time >= stretch.to) {
            throttle(number, id, time, false, out);
            throttled += time - *std::exchange(since, std::nullopt);
        }
        return false;
    };
    change(cpu.throttled_since, clock_throttled(cpu, slice_end), cpu.clock_id, cpu.truth.throttled_time);
    if (!options_.cycles) return;
    const bool began =
        change(cpu.cycles_throttled_since, cycles_throttled(cpu, slice_end), cpu.cycles_id, cpu.truth.cycles_throttled);
    if (!began) return;
    // Right behind its record comes the sample that was one too many.
    write_cycles_sample(number, time + std::chrono::microseconds(2), sample_of(number, time), out);
    if (cpu.facts.busy_when_throttled) cpu.state_until = time;
}

MonotonicTime SyntheticStream::next_change(const Cpu& cpu, MonotonicTime time, MonotonicTime slice_end) const {
    MonotonicTime next = MonotonicTime::max();
    const auto consider = [&](MonotonicTime change) {
        if (change > time) next = std::min(next, change);
    };
    if (cpu.facts.offline) {
        consider(start_ + cpu.facts.offline->first);
        consider(start_ + cpu.facts.offline->second);
    }
    if (!cpu.recorded) consider(cpu.opens_at);
    for (const auto& [after, hertz] : options_.retunes) consider(start_ + after);
    for (const Stretch& stretch : {clock_throttled(cpu, slice_end), cycles_throttled(cpu, slice_end)}) {
        consider(stretch.from);
        consider(stretch.to);
    }
    return next;
}

// One stretch of each slice; empty where nothing is throttled.
SyntheticStream::Stretch SyntheticStream::clock_throttled(const Cpu& cpu, MonotonicTime slice_end) const {
    return share_of_slice(slice_end, 0.3, cpu.facts.throttled);
}

SyntheticStream::Stretch SyntheticStream::cycles_throttled(const Cpu& cpu, MonotonicTime slice_end) const {
    return share_of_slice(slice_end, 0.2, cpu.facts.cycles_throttled);
}

SyntheticStream::Stretch SyntheticStream::share_of_slice(MonotonicTime slice_end, double from, double length) const {
    const auto at = [&](double share) {
        const auto whole = static_cast<double>(options_.slice.count());
        return slice_end - options_.slice + Nanoseconds(static_cast<std::int64_t>(share * whole));
    };
    return {at(from), at(from + std::max(0.0, length))};
}

void SyntheticStream::next_state(Cpu& cpu, MonotonicTime time) {
    const double task = chance();
    if (chance() < cpu.facts.steal)
        cpu.state = State::kStolen;
    else if (chance() >=
             (cpu.cycles_throttled_since ? cpu.facts.busy_when_throttled.value_or(cpu.facts.busy) : cpu.facts.busy))
        cpu.state = task < cpu.facts.irq_in_idle ? State::kIrqInIdle : State::kIdle;
    else if (task < cpu.facts.kernel)
        cpu.state = State::kKernel;
    else
        cpu.state = task < cpu.facts.kernel + cpu.facts.softirq ? State::kSoftirq : State::kUser;
    const double polls = cpu.facts.polls;
    cpu.polling = polls >= 1 || (polls > 0 && chance() < polls);
    std::exponential_distribution<double> length(1.0 / static_cast<double>(kMeanState.count()));
    cpu.state_until = time + Nanoseconds(static_cast<std::int64_t>(length(random_)) + 1);
}

void SyntheticStream::spend(Cpu& cpu, Nanoseconds time) {
    const auto ns = static_cast<std::uint64_t>(time.count());
    switch (cpu.state) {
        case State::kUser: cpu.times.user += ns; break;
        case State::kKernel: cpu.times.system += ns; break;
        case State::kSoftirq:
        case State::kIrqInIdle: cpu.times.softirq += ns; break;
        case State::kIdle: cpu.times.idle += ns; break;
        case State::kStolen: cpu.times.steal += ns; break;
    }
    if (!cpu.recorded) return;
    if (is_task(cpu.state)) cpu.truth.task += time;
    if (runs(cpu.state, cpu.polling) && !cpu.cycles_throttled_since) {
        const std::uint64_t cycles = ns * cpu.facts.cycles_per_microsecond / 1000;
        cpu.cycles += cycles;
        cpu.truth.cycles_in_idle += cpu.state == State::kIdle ? cycles : 0;
    }
    if (cpu.state == State::kIdle) cpu.truth.idle += time;
    if (cpu.state == State::kIrqInIdle) cpu.truth.irq_in_idle += time;
    if (cpu.state == State::kStolen) cpu.truth.stolen += time;
}

void SyntheticStream::tick(std::size_t number, MonotonicTime time, MonotonicTime slice_end,
                           std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    SyntheticTruth& truth = cpu.truth;
    const Nanoseconds period = cpu.period();
    truth.longest_period = std::max(truth.longest_period, period);
    if (cpu.throttled_since) {
        ++truth.throttled;
        return;
    }
    if (cpu.state == State::kStolen) {
        ++truth.stolen_ticks;
        truth.weights.stolen += period;
        return;
    }
    if (cpu.state == State::kIdle && !cpu.facts.samples_idle) {
        ++truth.idle_unsampled;
        truth.weights.idle_unsampled += period;
        if (cpu.polling) cpu.sampled_until = cpu.cycles;  // that of cycles is not written either
        return;
    }
    const double into = to_seconds(time - (slice_end - options_.slice)) / to_seconds(options_.slice);
    if (into < cpu.facts.lost_time_share && chance() < cpu.facts.lost) return lose(cpu);
    if (chance() < cpu.facts.removed) {
        ++truth.removed;
        truth.weights.removed += period;
        return;
    }
    write_samples(number, time, out);
}

// The ring was full for both events.
void SyntheticStream::lose(Cpu& cpu) const {
    ++cpu.truth.lost;
    cpu.truth.weights.lost += cpu.period();
    ++cpu.lost;
    ++cpu.lost_unsaid;
    cpu.lost_unsaid_time += cpu.period();
    if (!options_.cycles || cpu.cycles_throttled_since || cpu.cycles == cpu.sampled_until) return;
    cpu.sampled_until = cpu.cycles;
    ++cpu.cycles_lost;
    ++cpu.truth.cycles_lost;
}

void SyntheticStream::write_samples(std::size_t number, MonotonicTime time, std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    const auto add = [&](EventId id, const auto& fields) -> Recorded& {
        return out.emplace_back(
            Recorded{.time = time, .bytes = record_bytes(table_.find(id)->layout, fields), .id = id, .cpu = number});
    };
    SampleFields sample = sample_of(number, time);
    sample.id.id = cpu.clock_id;
    if (!options_.lost_counts && cpu.lost_unsaid > 0) {
        collector::LostRecord lost{.sample = sample.id, .id = cpu.clock_id};
        cpu.truth.lost_said += cpu.lost_unsaid;
        cpu.truth.weights.lost_said += std::exchange(cpu.lost_unsaid_time, {});
        lost.lost = std::exchange(cpu.lost_unsaid, 0);
        add(cpu.clock_id, lost);
    }
    sample.period = static_cast<std::uint64_t>(cpu.period().count());
    Recorded& clock = add(cpu.clock_id, sample);
    clock.is_clock_sample = true;
    clock.idle = cpu.state == State::kIdle;
    clock.irq_in_idle = cpu.state == State::kIrqInIdle;
    clock.period = cpu.period();
    move_sample(clock, true);
    if (options_.cycles && !cpu.cycles_throttled_since) write_cycles_sample(number, time, sample, out);
}

void SyntheticStream::write_cycles_sample(std::size_t number, MonotonicTime time, SampleFields sample,
                                          std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    if (cpu.cycles == cpu.sampled_until || !runs(cpu.state, cpu.polling)) return;
    sample.id.id = cpu.cycles_id;
    sample.id.time = time;
    sample.period = cpu.cycles - cpu.sampled_until;
    cpu.sampled_until = cpu.cycles;
    cpu.truth.cycles_sampled += sample.period;
    cpu.truth.cycles_idle += cpu.state == State::kIdle ? sample.period : 0;
    out.push_back({.time = time,
                   .bytes = record_bytes(table_.find(cpu.cycles_id)->layout, sample),
                   .id = cpu.cycles_id,
                   .cpu = number});
}

void SyntheticStream::throttle(std::size_t number, EventId id, MonotonicTime time, bool throttled,
                               std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    if (!throttled && cpu.facts.unthrottles_lost > 0 && chance() < cpu.facts.unthrottles_lost) {
        const bool clock = id == cpu.clock_id;
        ++(clock ? cpu.lost : cpu.cycles_lost);
        ++(clock ? cpu.truth.lost : cpu.truth.cycles_lost);
        return;
    }
    collector::ThrottleRecord record{.sample = sample_of(number, time).id, .throttled = throttled, .time = time};
    record.sample.id = id;
    record.id = id;
    out.push_back({.time = time, .bytes = record_bytes(table_.find(id)->layout, record), .id = id, .cpu = number});
}

std::size_t SyntheticStream::innermost_function() {
    const auto& weights = options_.weights;
    if (weights.empty()) return static_cast<std::size_t>(chance() * static_cast<double>(options_.functions));
    double left = chance() * std::accumulate(weights.begin(), weights.end(), 0.0);
    std::size_t function = 0;
    while (function + 1 < weights.size() && left >= weights[function]) left -= weights[function++];
    return function;
}

SampleFields SyntheticStream::sample_of(std::size_t number, MonotonicTime time) {
    const Cpu& cpu = *cpus_[number];
    SampleFields sample;
    sample.id.time = time;
    sample.id.cpu = CpuId{static_cast<std::uint32_t>(number)};
    const bool task = is_task(cpu.state);
    const auto process = static_cast<std::size_t>(chance() * static_cast<double>(options_.processes_per_cpu));
    sample.id.pid = task ? pid_of(number, process) : Pid{0};
    sample.id.tid = Tid{sample.id.pid.value};
    if (task) sample.cgroup = cgroup_of(number);

    auto& chain = sample.chain;
    const auto kernel = [&](std::initializer_list<std::string_view> functions) {
        for (const auto function : functions) {
            chain.push_back(SyntheticCode::kernel_address(function) + (chain.size() == 1 ? kLeaf : kReturn));
        }
    };
    if (cpu.state != State::kUser) chain.push_back(collector::kContextKernel);
    switch (cpu.state) {
        case State::kKernel:
            kernel({"copy_page", "vfs_read", "ksys_read", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"});
            break;
        case State::kSoftirq:
        case State::kIrqInIdle:
            kernel({"net_rx_action", "handle_softirqs", "__irq_exit_rcu", "sysvec_apic_timer_interrupt",
                    "asm_sysvec_apic_timer_interrupt"});
            break;
        default: break;
    }
    if (!task) {
        kernel({"pv_native_safe_halt", "default_idle", "do_idle", "cpu_startup_entry", "start_secondary"});
    } else {
        chain.push_back(collector::kContextUser);
        const std::size_t first = innermost_function();
        for (std::size_t i = 0; i < options_.depth; ++i) {
            const std::size_t function = (first + i) % options_.functions;
            chain.push_back(SyntheticCode::kProgramStart + function * SyntheticCode::kFunctionSize +
                            (chain.back() == collector::kContextUser ? kLeaf : kReturn));
        }
    }
    sample.misc = cpu.state == State::kUser ? collector::kMiscUser : collector::kMiscKernel;
    sample.ip = chain[1];
    return sample;
}

void SyntheticStream::read_cpu(std::size_t number, MonotonicTime time, std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    const Nanoseconds passed = time - std::exchange(cpu.last_reading, time);
    cpu.truth.enabled += passed;
    cpu.truth.ticks_due += static_cast<double>(passed.count()) / static_cast<double>(cpu.period().count());
    cpu.truth.longest_period = std::max(cpu.truth.longest_period, cpu.period());
    cpu.truth.cycles += cpu.cycles - std::exchange(cpu.counted_until, cpu.cycles);
    if (!options_.readings) return;
    const auto enabled = static_cast<std::uint64_t>((time - cpu.opened).count());
    const auto add = [&](EventId id, std::uint64_t value, std::uint64_t lost, double share) {
        ReadRecordFields read;
        read.id.time = time;
        read.id.id = id;
        read.id.cpu = cpu.times.cpu;
        read.pid = Pid{-1};
        // Counters stand still while others have them.
        const auto part = [&](std::uint64_t whole) {
            return share >= 1 ? whole : static_cast<std::uint64_t>(static_cast<double>(whole) * share);
        };
        read.read = {.time_enabled = enabled, .time_running = part(enabled), .members = {{part(value), id, lost}}};
        out.push_back({.time = time, .bytes = record_bytes(table_.find(id)->layout, read), .id = id, .cpu = number});
    };
    add(cpu.clock_id, enabled, options_.lost_counts ? cpu.lost : 0, 1);
    if (options_.cycles) {
        add(cpu.cycles_id, cpu.cycles, options_.lost_counts ? cpu.cycles_lost : 0, options_.cycles_running);
    }
}

}  // namespace perfvigil::test
