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
    : options_(std::move(options)),
      random_(options_.seed),
      start_(kStartTime),
      now_(kStartTime),
      hertz_(options_.hertz) {
    add_events();
    for (std::size_t i = 0; i < options_.cpus.size(); ++i) {
        auto cpu = std::make_unique<Cpu>();
        cpu->facts = options_.cpus[i];
        cpu->times.cpu = CpuId{static_cast<std::uint32_t>(i)};
        cpu->state_until = start_;
        cpus_.push_back(std::move(cpu));
        open_cpu(i, start_);
    }
    host_.hostname = "synthetic";
    host_.version = "perfvigil test";
    host_.cpus_online = static_cast<std::uint32_t>(cpus_.size());
    host_.kernel_start = SyntheticCode::kKernelStart;
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
    if (options_.cycles) {
        cycles_ = table_.add_event({"cycles", EventRole::kSampling, adapt(cycles_attr(options_.hertz))});
    }
    clock_ = table_.add_event({"cpu-clock", EventRole::kSampling, adapt(cpu_clock_attr(options_.hertz))});
    side_band_ = table_.add_event({"dummy:HG", EventRole::kSideBand, side_band_attr()});
    EventInstance instance;
    instance.event = side_band_;
    instance.layout = RecordLayout::of(side_band_attr());
    table_.add_instance(EventId{1}, instance);
    next_id_ = 2;
}

Nanoseconds SyntheticStream::period() const { return Nanoseconds(static_cast<std::int64_t>(1'000'000'000 / hertz_)); }

Nanoseconds SyntheticStream::length_of(std::size_t slice) const {
    const auto stepped = options_.stepped.find(slice);
    return stepped == options_.stepped.end() ? options_.slice : stepped->second;
}

// A new pair of instances on this CPU, opened now.
void SyntheticStream::open_cpu(std::size_t number, MonotonicTime time) {
    Cpu& cpu = *cpus_[number];
    const auto add = [&](collector::EventIndex event) {
        EventInstance instance;
        instance.event = event;
        instance.generation = generation_;
        instance.layout = RecordLayout::of(table_.event(event).attr);
        if (options_.readings) instance.cpu = CpuId{static_cast<std::uint32_t>(number)};
        if (event == clock_) instance.nominal_period = period();
        const EventId id{next_id_++};
        table_.add_instance(id, instance);
        return id;
    };
    cpu.clock_id = add(clock_);
    if (options_.cycles) cpu.cycles_id = add(cycles_);
    cpu.online = true;
    cpu.opened = time;
    cpu.last_reading = time;
    cpu.lost = 0;
    cpu.lost_unsaid = 0;
    cpu.cycles = 0;
    cpu.sampled_until = 0;
    cpu.counted_until = 0;
    // Somewhere within the first period: CPUs do not tick together.
    cpu.next_tick = time + Nanoseconds(static_cast<std::int64_t>(chance() * static_cast<double>(period().count())));
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
            comm.comm = "worker";
            send(record_bytes(layout, comm));
            collector::MmapRecord mmap{.sample = id(pid), .pid = pid, .tid = Tid{pid.value}};
            mmap.start = SyntheticCode::kProgramStart;
            mmap.length = SyntheticCode::kProgramLength;
            mmap.page_offset = SyntheticCode::kProgramOffset;
            mmap.protection = 5;
            mmap.map_flags = 2;
            mmap.has_inode = true;
            mmap.inode = 42;
            mmap.path = "/usr/bin/worker";
            send(record_bytes(layout, mmap));
        }
    }
}

void SyntheticStream::deliver_slice(collector::RecordSink& sink, bool last) {
    std::vector<Recorded> records;
    for (auto& cpu : cpus_) cpu->truth = {.cpu = cpu->times.cpu};
    if (slice_ == 0) {
        deliver_start(sink);
        for (std::size_t i = 0; i < cpus_.size(); ++i) read_cpu(i, start_, records);
    }
    const MonotonicTime end = now_ + length_of(slice_);
    for (std::size_t i = 0; i < cpus_.size(); ++i) make_cpu_slice(i, now_, end, records);
    const bool retune = options_.retune && options_.retune->first == slice_ + 1 && !last;
    deliver_late(sink);
    std::ranges::stable_sort(records, {}, &Recorded::time);
    if (!last && !retune) hold_back(records);
    for (const auto& recorded : records) deliver(sink, recorded, false);

    std::vector<std::pair<EventId, EventId>> old;
    for (const auto& cpu : cpus_) old.emplace_back(cpu->clock_id, cpu->cycles_id);
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
    for (const auto& [clock, cycles] : old) {
        if (!retune) break;
        table_.remove_instance(clock);
        table_.remove_instance(cycles);
    }
    now_ = end;
    ++slice_;
}

// The last samples of a slice stay behind and come with the next one.
void SyntheticStream::hold_back(std::vector<Recorded>& records) {
    for (std::size_t held = 0, i = records.size(); held < options_.late_per_slice && i-- > 0;) {
        if (!records[i].is_clock_sample) continue;
        SyntheticTruth& truth = cpus_[records[i].cpu]->truth;
        --truth.samples;
        truth.idle_samples -= records[i].idle ? 1 : 0;
        truth.irq_in_idle_samples -= records[i].irq_in_idle ? 1 : 0;
        held_back_.push_back(std::move(records[i]));
        records.erase(records.begin() + static_cast<std::ptrdiff_t>(i));
        ++held;
    }
}

void SyntheticStream::deliver_late(collector::RecordSink& sink) {
    for (const auto& recorded : held_back_) {
        SyntheticTruth& truth = cpus_[recorded.cpu]->truth;
        ++truth.samples;
        truth.idle_samples += recorded.idle ? 1 : 0;
        truth.irq_in_idle_samples += recorded.irq_in_idle ? 1 : 0;
        deliver(sink, recorded, true);
    }
    held_back_.clear();
}

// The counters, a moment after the cut's time; at a change of rate also the first reading of the new instances, which
// were enabled a second before.
void SyntheticStream::deliver_readings(collector::RecordSink& sink, MonotonicTime end, bool retune) {
    std::vector<Recorded> records;
    MonotonicTime reading = end;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
        reading += kReadingPause;
        if (cpus_[i]->online) read_cpu(i, reading, records);
    }
    if (retune) {
        hertz_ = options_.retune->second;
        ++generation_;
        for (std::size_t i = 0; i < cpus_.size(); ++i) {
            if (!cpus_[i]->online) continue;
            reading += kReadingPause;
            open_cpu(i, end - std::chrono::seconds(1));
            cpus_[i]->next_tick += std::chrono::seconds(1);
            cpus_[i]->last_reading = reading;
            read_cpu(i, reading, records);
        }
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
        if (!cpu->online) continue;
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
