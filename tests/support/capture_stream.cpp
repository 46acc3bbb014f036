// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/capture_stream.hpp"

#include <algorithm>
#include <array>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;

constexpr std::uint32_t kCpus = 2;
constexpr std::uint32_t kClock = 0;
constexpr std::uint32_t kCycles = 1;
constexpr std::uint32_t kSideBand = 2;
constexpr std::uint64_t kHertz = 200;
constexpr Pid kWorker{100};
constexpr Tid kHelper{101};
constexpr std::uint64_t kKernelText = 0xffffffff81000000;
constexpr std::uint64_t kProgramText = 0x401000;
constexpr std::uint64_t kLibraryText = 0x7f0000001000;
constexpr CgroupId kCgroup{4242};

BuildId build_id(std::uint8_t seed) {
    std::array<std::byte, 20> bytes;
    bytes.fill(std::byte{seed});
    return BuildId(bytes);
}

MonotonicTime at(std::uint64_t ns) { return monotonic_from_ns(ns); }

SampleId stamp(Pid pid, Tid tid, std::uint64_t time, std::uint32_t cpu, EventId id) {
    SampleId s;
    s.pid = pid;
    s.tid = tid;
    s.time = at(time);
    s.cpu = CpuId{cpu};
    s.id = id;
    return s;
}

RecordLayout layout_of(std::uint32_t event) {
    if (event == kSideBand) return RecordLayout::of(side_band_attr());
    return RecordLayout::of(event == kClock ? cpu_clock_attr() : cycles_attr());
}

MmapRecord mapping(Pid pid, std::uint64_t start, std::uint64_t offset, std::string_view path, BuildId id, SampleId s) {
    MmapRecord mmap{.sample = s, .misc = kMiscUser, .pid = pid, .tid = Tid{pid.value}};
    mmap.start = start;
    mmap.length = 0x10000;
    mmap.page_offset = offset;
    mmap.build_id = id;
    mmap.protection = 5;
    mmap.map_flags = 2;
    mmap.path = path;
    return mmap;
}

}  // namespace

CaptureStream::CaptureStream(StreamShape shape) : shape_(shape) {
    (void)events_.add_event({"cpu-clock", EventRole::kSampling, cpu_clock_attr(kHertz)});
    (void)events_.add_event({"cycles", EventRole::kSampling, cycles_attr(kHertz)});
    (void)events_.add_event({"dummy:HG", EventRole::kSideBand, side_band_attr()});
    add_generation(0, kHertz);
    host_.hostname = "stream";
    host_.os_release = "6.1.0-test";
    host_.os_version = "#1 SMP";
    host_.architecture = "x86_64";
    host_.cpu_description = "A CPU of tests";
    host_.cpuid = "GenuineIntel,6,85,7";
    host_.total_memory_kib = 2097152;
    host_.cpus_online = kCpus;
    host_.cpus_present = kCpus;
    host_.command_line = "perfvigil record -a";
    host_.version = "perfvigil test";
    host_.kernel_build_id = build_id(0xaa);
    host_.kernel_start = kKernelText;
    host_.kernel_end = kKernelText + 0x1000000;
    host_.modules = {{"loop", "[loop]", 0xffffffffc0100000, 0x8000, build_id(0xbb)}};
    host_.text_ranges = {{kKernelText + 0x1000, kKernelText + 0x1100, 1}};
    host_.vulnerabilities = {{"spectre_v2", "Mitigation: Retpolines"}};
    host_.degraded = {{"no_pmu", "cycles: not supported", "none"}};
    host_.scope = HostFacts::Scope::kWholeCpus;
    host_.monotonic_reference = at(kStart);
    host_.wall_reference = WallTime(std::chrono::seconds(1'700'000'000));
    host_.cpu_times = {{at(kStart), {{.cpu = CpuId{0}, .user = 5, .idle = 7}, {.cpu = CpuId{1}, .system = 9}}}};
}

void CaptureStream::use_kernel_of(const HostFacts& host) {
    host_.kernel_build_id = host.kernel_build_id;
    host_.kernel_start = host.kernel_start;
    host_.kernel_end = host.kernel_end;
    host_.kernel_reference = host.kernel_reference;
    host_.modules.clear();
}

EventId CaptureStream::id_of(std::uint32_t event, std::uint32_t cpu, std::uint32_t generation) const {
    return EventId{1000 + 100 * generation + 10 * event + cpu};
}

void CaptureStream::add_generation(std::uint32_t generation, std::uint64_t hertz) {
    for (std::uint32_t event = 0; event < 3; ++event) {
        for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu) {
            EventInstance instance{.event = EventIndex{event}, .cpu = CpuId{cpu}, .layout = layout_of(event)};
            instance.generation = generation;
            if (event == kClock)
                instance.nominal_period = Nanoseconds(static_cast<std::int64_t>(1'000'000'000 / hertz));
            if (event != kSideBand && hertz != kHertz) instance.period_or_freq = hertz;
            events_.add_instance(id_of(event, cpu, generation), instance);
        }
    }
}

std::uint32_t CaptureStream::generation_in(unsigned slice) const { return shape_.change_rate && slice > 0 ? 1 : 0; }

std::uint64_t CaptureStream::samples() const {
    return std::uint64_t{shape_.slices} * shape_.samples_per_slice * kCpus * 2;
}

// What a session reads from /proc at its start.
void CaptureStream::start_records(std::vector<Owned>& out) const {
    const EventId id = id_of(kSideBand, 0, 0);
    const RecordLayout layout = layout_of(kSideBand);
    const auto s = [&](Pid pid, Tid tid) { return stamp(pid, tid, kStart, 0, id); };
    const Tid main{kWorker.value};
    const auto add = [&](std::vector<std::byte> bytes) { out.push_back({kStart, std::move(bytes), id}); };
    add(record_bytes(layout, CgroupRecord{s(kWorker, main), kCgroup, "/system.slice/worker.service"}));
    add(record_bytes(layout, CommRecord{s(kWorker, main), kWorker, main, false, "worker"}));
    add(record_bytes(layout, CommRecord{s(kWorker, kHelper), kWorker, kHelper, false, "helper \tthread"}));
    add(record_bytes(layout, mapping(kWorker, kProgramText, 0x1000, "/usr/bin/worker", build_id(1), s(kWorker, main))));
    add(record_bytes(layout, mapping(kWorker, kLibraryText, 0x2000, "/usr/lib/libwork.so", {}, s(kWorker, main))));
}

void CaptureStream::process_records(unsigned slice, std::vector<Owned>& out) const {
    const EventId id = id_of(kSideBand, 1, generation_in(slice));
    const RecordLayout layout = layout_of(kSideBand);
    const Pid child{static_cast<std::int32_t>(1000 + slice)};
    const Tid main{child.value};
    const std::uint64_t start = kStart + slice * kSlice;
    const auto add = [&](std::uint64_t time, std::vector<std::byte> bytes) {
        out.push_back({start + time, std::move(bytes), id});
    };
    const auto s = [&](std::uint64_t time) { return stamp(child, main, start + time, 1, id); };
    TaskRecord task{
        .sample = s(10), .pid = child, .parent_pid = kWorker, .tid = main, .parent_tid = Tid{kWorker.value}};
    task.time = at(start + 10);
    add(10, record_bytes(layout, task));
    add(20, record_bytes(layout, CommRecord{s(20), child, main, true, "shorty"}));
    add(30, record_bytes(layout, mapping(child, kProgramText, 0x1000, "/usr/bin/shorty", build_id(2), s(30))));
    add(40, record_bytes(layout, mapping(kWorker, kLibraryText + 0x100000 * (slice + 1), 0, "/usr/lib/plugin.so",
                                         build_id(3), s(40))));
    add(50, record_bytes(layout, KsymbolRecord{s(50), 0xffffffffc0200000 + slice * 4096, 512, 1, false, "bpf_prog_x"}));
    task.exit = true;
    task.sample = s(kSlice / 2);
    task.time = at(start + kSlice / 2);
    add(kSlice / 2, record_bytes(layout, task));
}

void CaptureStream::sample_records(unsigned slice, std::vector<Owned>& out) const {
    const std::uint64_t step = kSlice / shape_.samples_per_slice;
    for (unsigned i = 0; i < shape_.samples_per_slice; ++i) {
        for (std::uint32_t n = 0; n < 2 * kCpus; ++n) {
            const std::uint32_t cpu = n % kCpus;
            const std::uint32_t event = n / kCpus;
            const std::uint64_t time = kStart + slice * kSlice + 100 + i * step + n;
            const Pid child{static_cast<std::int32_t>(1000 + slice)};
            const bool helper = i % 3 == 0;
            const bool in_child = shape_.exercise_processes && i % 5 == 1 && i < shape_.samples_per_slice / 2;
            const Pid pid = i % 4 == 3 ? Pid{0} : in_child ? child : kWorker;
            const Tid tid = pid == kWorker && helper ? kHelper : Tid{pid.value};
            SampleFields sample;
            const EventId id = id_of(event, cpu, generation_in(slice));
            sample.id = stamp(pid, tid, time, cpu, id);
            sample.misc = pid.value == 0 ? kMiscKernel : kMiscUser;
            sample.ip = pid.value == 0 ? host_.kernel_start + 0x1000 + i % 64 : kProgramText + 0x40 + i % 256;
            sample.period = event == kCycles ? 1000 + i : 1'000'000'000 / kHertz;
            sample.chain = {pid.value == 0 ? kContextKernel : kContextUser, sample.ip};
            const std::uint64_t text = pid.value == 0 ? host_.kernel_start : kProgramText;
            for (unsigned depth = 1; depth < shape_.chain_depth; ++depth)
                sample.chain.push_back(text + 64 * depth + i % 16);
            sample.cgroup = pid == kWorker ? kCgroup : CgroupId{1};
            out.push_back({time, record_bytes(layout_of(event), sample), id});
        }
    }
}

void CaptureStream::read_records(unsigned slice, std::vector<Owned>& out) const {
    const std::uint64_t time = kStart + slice * kSlice + 500;
    for (std::uint32_t event = 0; event < 2; ++event) {
        for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu) {
            ReadRecordFields read;
            // A slice is closed by the counters of the events that were open in it.
            const EventId id = id_of(event, cpu, slice == 0 ? 0 : generation_in(slice - 1));
            read.id = stamp(Pid{-1}, Tid{0}, time + cpu, cpu, id);
            read.pid = Pid{-1};
            read.read.time_enabled = slice * kSlice;
            read.read.time_running = slice * kSlice;
            const bool loses = event == kClock && cpu == 1;
            read.read.members = {{slice * kSlice, id, loses ? slice * shape_.lost_per_slice : 0}};
            out.push_back({time + cpu, record_bytes(layout_of(event), read), id});
        }
    }
}

void CaptureStream::slice_records(unsigned slice, std::vector<Owned>& out) const {
    const std::size_t first = out.size();
    if (shape_.exercise_processes) process_records(slice, out);
    sample_records(slice, out);
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                     [](const Owned& a, const Owned& b) { return a.time < b.time; });
    // The counters are read after the boundary and delivered before the cut.
    read_records(slice + 1, out);
}

void CaptureStream::deliver(const std::vector<Owned>& records, RecordSink& sink) {
    for (const Owned& owned : records) {
        const EventInstance* instance = events_.find(owned.id);
        const auto record = decode_record(owned.bytes, instance->layout);
        processes_.apply(*record);
        sink.on_record({.time = at(owned.time), .event = instance, .record = *record, .bytes = owned.bytes});
    }
}

void CaptureStream::play(RecordSink& sink) { play_slices(sink, 0, shape_.slices); }

void CaptureStream::play_slices(RecordSink& sink, unsigned first, unsigned last) {
    if (first == 0) {
        std::vector<Owned> start;
        start_records(start);
        read_records(0, start);
        deliver(start, sink);
    }
    for (unsigned slice = first; slice < last; ++slice) {
        if (slice == 1 && shape_.change_rate) add_generation(1, kHertz / 2);
        std::vector<Owned> records;
        slice_records(slice, records);
        deliver(records, sink);
        Cut cut;
        cut.time = at(kStart + (slice + 1) * kSlice);
        cut.wall = host_.wall_reference + Nanoseconds(static_cast<std::int64_t>((slice + 1) * kSlice));
        cut.cpu_times = {{.cpu = CpuId{0}, .user = 5 + slice * 1000, .idle = 7 + slice},
                         {.cpu = CpuId{1}, .system = 9}};
        cut.lost_side_band = slice;
        cut.clock_stepped = slice == 1;
        cut.last = shape_.last_cut && slice + 1 == shape_.slices;
        sink.on_cut(cut);
    }
}

void KeepingSink::on_record(const OrderedRecord& record) {
    Kept kept{.time = to_ns(record.time), .bytes = {record.bytes.begin(), record.bytes.end()}, .event = {}};
    if (record.event != nullptr) kept.event = events_.event(record.event->event).name;
    if (const auto* sample = std::get_if<SampleRecord>(&record.record)) kept.period = sample->period;
    kept.late = record.late;
    records.push_back(std::move(kept));
}

}  // namespace perfvigil::test
