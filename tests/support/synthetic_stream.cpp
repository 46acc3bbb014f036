// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/synthetic_stream.hpp"

#include <algorithm>
#include <stdexcept>

#include "tests/support/synthetic_parts.hpp"

namespace perfvigil::test {

using collector::CpuTimes;
using collector::EventInstance;
using collector::EventRole;
using collector::RecordLayout;

namespace {

constexpr Nanoseconds kStatTick = std::chrono::milliseconds(10);
constexpr Nanoseconds kReadingPause = std::chrono::microseconds(3);  // between the readings of two CPUs
constexpr auto kStartTime = std::chrono::seconds(1000);
constexpr auto kWallStart = std::chrono::seconds(1'700'000'000);

std::uint64_t whole_ticks(std::uint64_t ns) {
    const auto tick = static_cast<std::uint64_t>(kStatTick.count());
    return ns / tick * tick;
}

}  // namespace

SyntheticStream::SyntheticStream(SyntheticOptions options)
    : options_(std::move(options)), random_(options_.seed), start_(kStartTime), now_(kStartTime) {
    add_events();
    for (std::size_t i = 0; i < options_.cpus.size(); ++i) {
        auto cpu = std::make_unique<Cpu>();
        cpu->facts = options_.cpus[i];
        cpu->times.cpu = CpuId{static_cast<std::uint32_t>(i)};
        cpu->state_until = start_;
        cpu->opens_at = start_ + cpu->facts.starts;
        cpus_.push_back(std::move(cpu));
        if (options_.cpus[i].starts.count() == 0) open_cpu(i, start_);
    }
    host_.hostname = "synthetic";
    host_.version = "perfvigil test";
    host_.cpus_online = static_cast<std::uint32_t>(cpus_.size());
    host_.kernel_start = SyntheticCode::kKernelStart;
    host_.kernel_end = SyntheticCode::kKernelStart + 0x10000;
    host_.kernel_reference = "_text";
    host_.text_ranges = SyntheticCode::text_ranges();
    host_.monotonic_reference = start_;
    host_.wall_reference = WallTime(kWallStart);
    host_.scope = options_.readings ? collector::HostFacts::Scope::kWholeCpus : collector::HostFacts::Scope::kUnknown;
    if (options_.proc_stat && options_.readings) host_.cpu_times.push_back({start_, proc_stat()});
}

SyntheticStream::~SyntheticStream() = default;

void SyntheticStream::add_events() {
    const auto adapt = [&](collector::EventAttr attr) {
        if (!options_.lost_counts) attr.read_format &= ~std::uint64_t{collector::kReadLost};
        if (!options_.readings) attr.read_format = collector::kReadId;
        if (!options_.call_chains) attr.sample_type &= ~std::uint64_t{collector::kSampleCallchain};
        return attr;
    };
    if (options_.cycles && options_.core_pmus.empty()) {
        cycles_.push_back(table_.add_event({"cycles", EventRole::kSampling, adapt(cycles_attr(options_.hertz))}));
    }
    for (const auto& pmu : options_.core_pmus) {
        collector::EventAttr attr = adapt(cycles_attr(options_.hertz));
        attr.config |= pmu.type << 32U;
        cycles_.push_back(table_.add_event({pmu.name + "/cycles/", EventRole::kSampling, attr}));
    }
    clock_ = table_.add_event({"cpu-clock", EventRole::kSampling, adapt(cpu_clock_attr(options_.hertz))});
    side_band_ = table_.add_event({"dummy:HG", EventRole::kSideBand, side_band_attr()});
    EventInstance instance;
    instance.event = side_band_;
    instance.layout = RecordLayout::of(side_band_attr());
    table_.add_instance(EventId{1}, instance);
    next_id_ = 2;
}

SyntheticStream::Rate SyntheticStream::rate_at(MonotonicTime time) const {
    Rate rate{.generation = 0, .hertz = options_.hertz};
    for (const auto& [after, hertz] : options_.retunes) {
        if (start_ + after <= time) rate = {rate.generation + 1, hertz};
    }
    return rate;
}

Nanoseconds SyntheticStream::length_of(std::size_t slice) const {
    const auto stepped = options_.stepped.find(slice);
    return stepped == options_.stepped.end() ? options_.slice : stepped->second;
}

// A new pair of instances on this CPU, opened now.
void SyntheticStream::open_cpu(std::size_t number, MonotonicTime time) {
    Cpu& cpu = *cpus_[number];
    cpu.rate = rate_at(time);
    const auto add = [&](collector::EventIndex event) {
        EventInstance instance;
        instance.event = event;
        instance.generation = cpu.rate.generation;
        instance.layout = RecordLayout::of(table_.event(event).attr);
        instance.period_or_freq = cpu.rate.hertz;
        if (options_.readings) instance.cpu = CpuId{static_cast<std::uint32_t>(number)};
        if (event == clock_) instance.nominal_period = cpu.period();
        const EventId id{next_id_++};
        table_.add_instance(id, instance);
        return id;
    };
    cpu.clock_id = add(clock_);
    if (options_.cycles) cpu.cycles_id = add(cycles_[cpu.facts.pmu]);
    cpu.recorded = true;
    cpu.opened = time;
    cpu.last_reading = time;
    cpu.throttled_since.reset();
    cpu.cycles_throttled_since.reset();
    cpu.lost = 0;
    cpu.lost_unsaid = 0;
    cpu.lost_unsaid_time = {};
    cpu.cycles_lost = 0;
    cpu.cycles = 0;
    cpu.sampled_until = 0;
    cpu.counted_until = 0;
    // Somewhere within the first period: CPUs do not tick together.
    const double first = chance() * static_cast<double>(cpu.period().count());
    cpu.next_tick = time + Nanoseconds(static_cast<std::int64_t>(first));
}

// The last reading of what the CPU has open.
void SyntheticStream::close_cpu(std::size_t number, MonotonicTime time, std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    read_cpu(number, time, out);
    if (cpu.throttled_since) cpu.truth.throttled_time += time - *std::exchange(cpu.throttled_since, std::nullopt);
    if (cpu.cycles_throttled_since) {
        cpu.truth.cycles_throttled += time - *std::exchange(cpu.cycles_throttled_since, std::nullopt);
    }
    closed_.push_back(cpu.clock_id);
    if (options_.cycles) closed_.push_back(cpu.cycles_id);
    cpu.recorded = false;
}

// Instances of another rate, which were enabled a second ago and have counted and lost since: that is discarded.
void SyntheticStream::replace_events(std::size_t number, MonotonicTime time, std::vector<Recorded>& out) {
    Cpu& cpu = *cpus_[number];
    if (cpu.recorded) close_cpu(number, time, out);
    open_cpu(number, time);
    cpu.opened = time - std::chrono::seconds(1);
    cpu.lost = 7;
    cpu.cycles_lost = 5;
    cpu.cycles = 1'234'567'890;
    cpu.sampled_until = cpu.cycles;
    cpu.counted_until = cpu.cycles;
    read_cpu(number, time, out);
}

Result<void> SyntheticStream::pump(collector::RecordSink& sink) {
    if (slice_ + 1 < options_.slices) deliver_slice(sink, false);
    return {};
}

std::optional<MonotonicTime> SyntheticStream::next_pump() const {
    if (slice_ + 1 >= options_.slices) return std::nullopt;
    return now_ + length_of(slice_);
}

Result<void> SyntheticStream::finish(collector::RecordSink& sink) {
    deliver_slice(sink, true);
    return {};
}

void SyntheticStream::run(collector::RecordSink& sink) {
    while (next_pump()) (void)pump(sink);
    (void)finish(sink);
}

void SyntheticStream::deliver_start(collector::RecordSink& sink) {
    const RecordLayout layout = RecordLayout::of(side_band_attr());
    const auto id = [&](Pid pid) {
        collector::SampleId made;
        made.pid = pid;
        made.tid = Tid{pid.value};
        made.time = start_;
        made.id = EventId{1};
        return made;
    };
    const auto send = [&](RecordBytes bytes) {
        deliver(sink, {.time = start_, .bytes = std::move(bytes), .id = EventId{1}}, false);
    };
    for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
        collector::CgroupRecord cgroup{.sample = id(Pid{1}), .id = cgroup_of(cpu)};
        const std::string path = "/system.slice/worker" + std::to_string(cpu) + ".service";
        cgroup.path = path;
        send(record_bytes(layout, cgroup));
        for (std::size_t i = 0; i < options_.processes_per_cpu; ++i) {
            const Pid pid = pid_of(cpu, i);
            collector::CommRecord comm{.sample = id(pid), .pid = pid, .tid = Tid{pid.value}, .by_exec = true};
            comm.comm = options_.comm;
            send(record_bytes(layout, comm));
            collector::MmapRecord mmap{.sample = id(pid), .pid = pid, .tid = Tid{pid.value}};
            mmap.start = SyntheticCode::kProgramStart;
            mmap.length = SyntheticCode::kProgramLength;
            mmap.page_offset = SyntheticCode::kProgramOffset;
            mmap.protection = 5;
            mmap.map_flags = 2;
            mmap.build_id = options_.program_build_id;
            mmap.has_inode = mmap.build_id.empty();
            mmap.inode = 42;
            mmap.path = options_.program;
            send(record_bytes(layout, mmap));
        }
    }
}

void SyntheticStream::deliver_slice(collector::RecordSink& sink, bool last) {
    std::vector<Recorded> records;
    for (auto& cpu : cpus_) cpu->truth = {.cpu = cpu->times.cpu};
    if (slice_ == 0) {
        deliver_start(sink);
        for (std::size_t i = 0; i < cpus_.size(); ++i) {
            if (cpus_[i]->recorded) read_cpu(i, start_, records);
        }
    }
    const MonotonicTime end = now_ + length_of(slice_);
    for (std::size_t i = 0; i < cpus_.size(); ++i) make_cpu_slice(i, now_, end, records);
    const bool retune = options_.retunes.contains(end - start_) && !last;
    deliver_late(sink);
    std::ranges::stable_sort(records, {}, &Recorded::time);
    if (!last && !retune) hold_back(records);
    for (const auto& recorded : records) deliver(sink, recorded, false);

    deliver_readings(sink, end, retune);
    auto& truths = truth_.emplace_back();
    for (const auto& cpu : cpus_) {
        if (cpu->truth.enabled.count() > 0) truths.push_back(cpu->truth);
    }
    const bool stepped = options_.stepped.contains(slice_);
    if (stepped) wall_ahead_ += options_.step;
    collector::Cut cut{.time = end,
                       .wall = WallTime(kWallStart) + (end - start_) + wall_ahead_,
                       .cpu_times = {},
                       .modules = {},
                       .clock_stepped = stepped,
                       .last = last};
    if (options_.proc_stat && options_.readings) cut.cpu_times = proc_stat();
    sink.on_cut(cut);
    if (held_back_.empty()) {
        for (const EventId id : std::exchange(closed_, {})) table_.remove_instance(id);
    }
    now_ = end;
    ++slice_;
}

// The last samples of a slice stay behind and come with the next one.
void SyntheticStream::hold_back(std::vector<Recorded>& records) {
    for (std::size_t held = 0, i = records.size(); held < options_.late_per_slice && i-- > 0;) {
        if (!records[i].is_clock_sample) continue;
        move_sample(records[i], false);
        held_back_.push_back(std::move(records[i]));
        records.erase(records.begin() + static_cast<std::ptrdiff_t>(i));
        ++held;
    }
}

void SyntheticStream::deliver_late(collector::RecordSink& sink) {
    for (const auto& recorded : held_back_) {
        move_sample(recorded, true);
        deliver(sink, recorded, true);
    }
    held_back_.clear();
}

// Into the truth of the slice that is being made, or out of it.
void SyntheticStream::move_sample(const Recorded& recorded, bool in) {
    SyntheticTruth& truth = cpus_[recorded.cpu]->truth;
    Nanoseconds& weight = recorded.idle          ? truth.weights.idle
                          : recorded.irq_in_idle ? truth.weights.irq_in_idle
                                                 : truth.weights.busy;
    const std::uint64_t one = in ? 1 : ~std::uint64_t{0};
    truth.samples += one;
    truth.idle_samples += recorded.idle ? one : 0;
    truth.irq_in_idle_samples += recorded.irq_in_idle ? one : 0;
    weight += in ? recorded.period : -recorded.period;
}

// The counters, a moment after the cut's time; at a change of rate also the first reading of the new instances.
void SyntheticStream::deliver_readings(collector::RecordSink& sink, MonotonicTime end, bool retune) {
    std::vector<Recorded> records;
    MonotonicTime reading = end;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
        if (!cpus_[i]->recorded) continue;
        reading += kReadingPause;
        if (!retune) {
            read_cpu(i, reading, records);
            continue;
        }
        const Nanoseconds since_cut = reading - end;
        replace_events(i, reading, records);
        // Its samples begin at the cut, a moment before its reading.
        cpus_[i]->next_tick -= since_cut;
    }
    for (const auto& recorded : records) deliver(sink, recorded, false);
}

void SyntheticStream::deliver(collector::RecordSink& sink, const Recorded& recorded, bool late) {
    const EventInstance* instance = table_.find(recorded.id);
    const auto record = collector::decode_record(recorded.bytes, instance->layout);
    if (!record) throw std::logic_error("a synthetic record does not decode");
    sink.on_record(
        {.time = recorded.time, .event = instance, .record = *record, .bytes = recorded.bytes, .late = late});
}

std::vector<CpuTimes> SyntheticStream::proc_stat() const {
    std::vector<CpuTimes> rows;
    for (const auto& cpu : cpus_) {
        if (!cpu->present) continue;
        CpuTimes row = cpu->times;
        if (options_.proc_stat_in_ticks) {
            for (auto* value : {&row.user, &row.system, &row.idle, &row.iowait, &row.irq, &row.softirq, &row.steal}) {
                *value = whole_ticks(*value);
            }
        }
        rows.push_back(row);
    }
    return rows;
}

}  // namespace perfvigil::test
