// SPDX-License-Identifier: GPL-2.0-or-later
// One CPU of a SyntheticStream: its states, ticks, samples and counters.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "tests/support/synthetic_parts.hpp"

namespace perfvigil::test {
namespace {

using State = SyntheticState;

constexpr Nanoseconds kMeanState = std::chrono::milliseconds(2);
constexpr std::uint64_t kCyclesPerNanosecond = 3;
constexpr std::uint64_t kLeaf = 0x10;    // where in its function a sampled instruction lies
constexpr std::uint64_t kReturn = 0x41;  // … and a return address: right behind its call

bool is_task(State state) { return state == State::kUser || state == State::kKernel || state == State::kSoftirq; }

}  // namespace

void SyntheticStream::make_cpu_slice(std::size_t number, MonotonicTime from, MonotonicTime to,
                                     std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    for (MonotonicTime time = from; time < to;) {
        MonotonicTime until = to;
        if (!online_at(number, time, until, out)) {
            time = until;
            continue;
        }
        if (cpu.state_until <= time) next_state(cpu, time);
        until = std::min(until, cpu.state_until);
        if (cpu.next_tick < until) {
            spend(cpu, cpu.next_tick - time);
            time = cpu.next_tick;
            tick(number, time, to, out);
            cpu.next_tick += period();
        } else {
            spend(cpu, until - time);
            time = until;
        }
    }
}

// Closes and opens the CPU's events where it leaves and comes back; `until` is where that changes next.
bool SyntheticStream::online_at(std::size_t number, MonotonicTime time, MonotonicTime& until,
                                std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    if (!cpu.facts.offline) return true;
    const MonotonicTime leaves = start_ + cpu.facts.offline->first;
    const MonotonicTime returns = start_ + cpu.facts.offline->second;
    if (time < leaves)
        until = std::min(until, leaves);
    else if (time < returns)
        until = std::min(until, returns);
    const bool online = time < leaves || time >= returns;
    if (cpu.online && !online) read_cpu(number, time, out);
    if (!cpu.online && online) {
        open_cpu(number, time);
        cpu.state_until = time;
        read_cpu(number, time, out);
    }
    cpu.online = online;
    return online;
}

void SyntheticStream::next_state(Cpu& cpu, MonotonicTime time) {
    const double task = chance();
    if (chance() < cpu.facts.steal)
        cpu.state = State::kStolen;
    else if (chance() >= cpu.facts.busy)
        cpu.state = task < cpu.facts.irq_in_idle ? State::kIrqInIdle : State::kIdle;
    else if (task < cpu.facts.kernel)
        cpu.state = State::kKernel;
    else
        cpu.state = task < cpu.facts.kernel + cpu.facts.softirq ? State::kSoftirq : State::kUser;
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
    if (is_task(cpu.state)) {
        cpu.truth.task += time;
        cpu.cycles += ns * kCyclesPerNanosecond;
    }
    if (cpu.state == State::kIdle) cpu.truth.idle += time;
    if (cpu.state == State::kIrqInIdle) cpu.truth.irq_in_idle += time;
    if (cpu.state == State::kStolen) cpu.truth.stolen += time;
}

void SyntheticStream::tick(std::size_t number, MonotonicTime time, MonotonicTime slice_end,
                           std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    SyntheticTruth& truth = cpu.truth;
    if (throttled_at(number, time, slice_end, out)) {
        ++truth.throttled;
        return;
    }
    if (cpu.state == State::kStolen) {
        ++truth.stolen_ticks;
        return;
    }
    if (cpu.state == State::kIdle && !cpu.facts.samples_idle) {
        ++truth.idle_unsampled;
        return;
    }
    const double into = to_seconds(time - (slice_end - options_.slice)) / to_seconds(options_.slice);
    if (into < cpu.facts.lost_time_share && chance() < cpu.facts.lost) {
        ++truth.lost;
        ++cpu.lost;
        ++cpu.lost_unsaid;
        return;
    }
    if (chance() < cpu.facts.removed) {
        ++truth.removed;
        return;
    }
    write_samples(number, time, out);
}

// One stretch of each slice, from three tenths of it on. Writes its records when ticks enter and leave it.
bool SyntheticStream::throttled_at(std::size_t number, MonotonicTime time, MonotonicTime slice_end,
                                   std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    if (cpu.facts.throttled <= 0) return false;
    const auto at = [&](double share) {
        const auto length = static_cast<double>(options_.slice.count());
        return slice_end - options_.slice + Nanoseconds(static_cast<std::int64_t>(share * length));
    };
    const MonotonicTime from = at(0.3);
    const MonotonicTime to = at(0.3 + cpu.facts.throttled);
    if (time < from) return false;
    if (time < to) {
        if (cpu.truth.throttled == 0) throttle(number, from, true, out);
        return true;
    }
    if (cpu.truth.throttled > 0 && cpu.truth.throttled_time.count() == 0) {
        throttle(number, to, false, out);
        cpu.truth.throttled_time = to - from;
    }
    return false;
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
        lost.lost = std::exchange(cpu.lost_unsaid, 0);
        add(cpu.clock_id, lost);
    }
    sample.period = static_cast<std::uint64_t>(period().count());
    Recorded& clock = add(cpu.clock_id, sample);
    clock.is_clock_sample = true;
    clock.idle = cpu.state == State::kIdle;
    clock.irq_in_idle = cpu.state == State::kIrqInIdle;
    ++cpu.truth.samples;
    cpu.truth.idle_samples += clock.idle ? 1 : 0;
    cpu.truth.irq_in_idle_samples += clock.irq_in_idle ? 1 : 0;
    if (!options_.cycles || !is_task(cpu.state) || cpu.cycles == cpu.sampled_until) return;
    sample.id.id = cpu.cycles_id;
    sample.period = cpu.cycles - cpu.sampled_until;
    cpu.sampled_until = cpu.cycles;
    cpu.truth.cycles_sampled += sample.period;
    add(cpu.cycles_id, sample);
}

void SyntheticStream::throttle(std::size_t number, MonotonicTime time, bool throttled, std::vector<Recorded>& out) {
    const EventId id = cpus_[number]->clock_id;
    collector::ThrottleRecord record{.sample = sample_of(number, time).id, .throttled = throttled, .time = time};
    record.sample.id = id;
    record.id = id;
    out.push_back({.time = time, .bytes = record_bytes(table_.find(id)->layout, record), .id = id, .cpu = number});
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
        const auto first = static_cast<std::size_t>(chance() * static_cast<double>(options_.functions));
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
    cpu.truth.enabled += time - std::exchange(cpu.last_reading, time);
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
    if (options_.cycles) add(cpu.cycles_id, cpu.cycles, 0, options_.cycles_running);
}

}  // namespace perfvigil::test
