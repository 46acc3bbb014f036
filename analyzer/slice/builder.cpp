// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/builder.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "analyzer/slice/chain_resolver.hpp"
#include "analyzer/slice/cpu_accounts.hpp"
#include "analyzer/slice/tables.hpp"

namespace perfvigil::analyzer {

using collector::EventTable;
using collector::OrderedRecord;
using collector::SampleRecord;

namespace {

constexpr std::size_t kSpareSlices = 4;
// A longer silence is no more parts than this, so that a damaged time cannot ask for millions.
constexpr std::int64_t kMostSilentParts = 64;

}  // namespace

struct SliceBuilder::State {
    State(const EventTable& event_table, collector::ProcessTable& process_table, SliceLimits slice_limits,
          Deliver deliver_to)
        : events(event_table),
          processes(process_table),
          limits(slice_limits),
          deliver(std::move(deliver_to)),
          accounts(event_table),
          open(chains.frames(), slice_limits.max_bytes) {
        open.start(std::make_unique<Slice>());
    }

    // One thread in one cgroup, as the process table knows it while nothing is applied to that.
    struct Task {
        std::uint64_t version = 0;
        std::uint64_t dropped = 0;
        Pid pid{};
        Tid tid{};
        CgroupId cgroup{};
        collector::Process* process = nullptr;
        std::uint64_t stamp = 0;  // of the table in which `actor` is its place
        std::uint32_t actor = 0;
        bool excluded = false;       // as far as `actor` is known
        std::optional<CpuId> cpu{};  // that the actor is told apart by
    };

    void sample(const OrderedRecord& record, const SampleRecord& sample);
    void side_band(const OrderedRecord& record);
    void cut(const collector::Cut& cut);
    void end_parts_before(MonotonicTime time);
    void end_part(MonotonicTime end);

    const Chain& chain_of(const OrderedRecord& record, const SampleRecord& sample, const collector::Process& process);
    Task& task_of(const SampleRecord& sample);
    void place(Task& task, std::optional<CpuId> cpu);
    const Chain& without_frames(const Chain& chain);
    void hide_throttled(collector::Waits& waits);
    [[nodiscard]] std::uint16_t max_stack_of(const collector::EventInstance& instance) const;
    [[nodiscard]] std::unique_ptr<Slice> empty_slice();
    void suspect_maps();

    const EventTable& events;
    collector::ProcessTable& processes;
    SliceLimits limits;
    Deliver deliver;
    ChainResolver chains;
    UserChains* user_chains = nullptr;
    Exclusion* exclusion = nullptr;
    CpuAccounts accounts;
    std::optional<SampleFilter> filter;  // absent: every sample is taken
    SliceTables open;
    std::vector<std::unique_ptr<Slice>> spare;

    Chain flagged;  // an unwound chain with what the resolver does not know of it
    Chain hidden;   // what is left of one that is excluded

    std::array<Task, 1024> tasks{};  // direct mapped by tid
    std::uint64_t version = 1;       // of the process table

    Nanoseconds part_length{};  // 0: no parts
    Deliver deliver_part;
    std::optional<MonotonicTime> part_start;

    std::optional<MonotonicTime> start;  // of the open slice
    std::optional<MonotonicTime> previous_cut;
    bool maps_suspect = false;   // in the open slice
    bool maps_unhealed = false;  // no snapshot of /proc since the last loss of side-band
};

SliceBuilder::SliceBuilder(const EventTable& events, collector::ProcessTable& processes, KernelText text,
                           SliceLimits limits, Deliver deliver)
    : state_(std::make_unique<State>(events, processes, limits, std::move(deliver))) {
    state_->chains.set_kernel_text(std::move(text));
}

SliceBuilder::~SliceBuilder() = default;

void SliceBuilder::set_parts(Nanoseconds length, Deliver deliver) {
    state_->part_length = length;
    state_->deliver_part = std::move(deliver);
}

void SliceBuilder::on_record(const OrderedRecord& record) {
    if (const auto* sample = std::get_if<SampleRecord>(&record.record)) {
        if (record.event != nullptr) state_->sample(record, *sample);
    } else {
        state_->side_band(record);
    }
    if (record.late) ++state_->open.slice().late_records;
}

void SliceBuilder::code_placed(Pid pid) { state_->chains.maps_changed(pid); }

void SliceBuilder::on_cut(const collector::Cut& cut) { state_->cut(cut); }

void SliceBuilder::recycle(std::unique_ptr<Slice> slice) {
    if (slice != nullptr && state_->spare.size() < kSpareSlices) state_->spare.push_back(std::move(slice));
}

void SliceBuilder::set_kernel_text(KernelText text) { state_->chains.set_kernel_text(std::move(text)); }

void SliceBuilder::set_user_chains(UserChains* chains) { state_->user_chains = chains; }

void SliceBuilder::exclude(Exclusion* exclusion) { state_->exclusion = exclusion; }

void SliceBuilder::set_baseline_times(const std::vector<collector::CpuTimes>& times) {
    state_->accounts.set_baseline_times(times);
}

void SliceBuilder::select(const SampleSelection& selection, std::optional<SampleSpan> span) {
    state_->filter.emplace(selection, span);
}

const SampleFilter& SliceBuilder::filter() const {
    static const SampleFilter kEverything;
    return state_->filter ? *state_->filter : kEverything;
}

void SliceBuilder::State::sample(const OrderedRecord& record, const SampleRecord& sample) {
    if (events.event(record.event->event).role != collector::EventRole::kSampling) return;
    if (!start) start = record.time;
    std::optional<CpuId> cpu;
    if (filter) {
        cpu = cpu_of(*record.event, sample.sample);
        auto marks = marks_of(sample.sample, cpu);
        if (filter->selection().cgroup) marks.cgroup = processes.cgroup_path(sample.cgroup);
        if (!filter->takes(marks)) return accounts.leave_out(record, sample);
        if (!filter->selection().by_cpu) cpu.reset();
    }
    if (part_length.count() > 0) end_parts_before(record.time);
    Task& task = task_of(sample);
    const Chain& chain = chain_of(record, sample, *task.process);
    const Mode mode = chains.mode_of(chain.flags, sample.sample.tid);
    const std::uint64_t weight = accounts.sample(record, sample, mode);

    if (mode == Mode::kIdle && !chains.kernel_text_known()) open.slice().idle_by_task = true;
    place(task, cpu);
    open.count(task.excluded ? without_frames(chain) : chain, task.actor, record.event->event, mode == Mode::kIdle, 1,
               weight);
}

// What the chain says of the CPU stays, for that is nobody's.
const Chain& SliceBuilder::State::without_frames(const Chain& chain) {
    FrameTable& frames = chains.frames();
    const auto frame = frames.number_of({.dso = {}, .offset = kFrameExcluded}, nullptr);
    hidden.frames.assign(1, frame);
    hidden.path = Chain::longer_path(frames.empty_path(), frame);
    hidden.flags = chain.flags & (kStackIdleLoop | kStackSoftirq | kStackKernelLeaf);
    return hidden;
}

const Chain& SliceBuilder::State::chain_of(const OrderedRecord& record, const SampleRecord& sample,
                                           const collector::Process& process) {
    const bool has_stack = user_chains != nullptr && !sample.user_stack.dump.empty();
    const auto unwound = has_stack ? user_chains->chain_of(sample, process) : std::nullopt;
    if (!unwound) return chains.resolve(sample, process, processes.kernel_space(), max_stack_of(*record.event));
    SampleRecord whole = sample;
    whole.chain = unwound->chain;
    // How deep is too deep has been judged.
    const Chain& chain = chains.resolve(whole, process, processes.kernel_space(), 0);
    if (unwound->flags == 0) return chain;
    flagged = chain;
    flagged.flags |= unwound->flags;
    return flagged;
}

SliceBuilder::State::Task& SliceBuilder::State::task_of(const SampleRecord& sample) {
    const Pid pid = sample.sample.pid;
    const Tid tid = sample.sample.tid;
    Task& task = tasks[static_cast<std::uint32_t>(tid.value) % tasks.size()];
    if (task.version == version && task.dropped == processes.dropped() && task.pid == pid && task.tid == tid &&
        task.cgroup == sample.cgroup) {
        return task;
    }
    task = {};
    task.process = &processes.process(pid);
    task.version = version;
    task.dropped = processes.dropped();
    task.pid = pid;
    task.tid = tid;
    task.cgroup = sample.cgroup;
    return task;
}

// Finds the task's actor in the open slice.
void SliceBuilder::State::place(Task& task, std::optional<CpuId> cpu) {
    if (task.stamp == open.stamp() && task.cpu == cpu) return;
    const std::string_view comm = processes.comm(task.pid, task.tid);
    const std::string_view cgroup = processes.cgroup_path(task.cgroup);
    task.excluded = exclusion != nullptr && exclusion->takes(*task.process, comm, cgroup);
    ActorPart part{.tid = {}, .cpu = cpu, .program = {}};
    if (task.excluded) {
        task.actor = open.actor({}, {}, false, kExcluded, kExcluded, part);
    } else {
        part.program = task.process->program;
        if (filter && filter->selection().by_tid) part.tid = task.tid;
        task.actor = open.actor(task.pid, task.process->epoch, task.process->kernel_thread, comm, cgroup, part);
    }
    task.stamp = open.stamp();
    task.cpu = cpu;
}

std::uint16_t SliceBuilder::State::max_stack_of(const collector::EventInstance& instance) const {
    if (instance.max_stack != 0) return instance.max_stack;
    const auto& attr = events.event(instance.event).attr;
    return attr.sample_max_stack != 0 ? attr.sample_max_stack : limits.max_stack;
}

void SliceBuilder::State::side_band(const OrderedRecord& record) {
    processes.apply(record.record);
    ++version;
    if (const auto* mmap = std::get_if<collector::MmapRecord>(&record.record)) chains.maps_changed(mmap->pid);
    if (const auto* other = std::get_if<collector::OtherRecord>(&record.record);
        other != nullptr && other->type == collector::kRecordFinishedInit) {
        maps_unhealed = false;
        if (exclusion != nullptr) exclusion->read_owners(processes);
    }
    if (const auto* lost = std::get_if<collector::LostRecord>(&record.record)) {
        // In a ring of its own side-band is all that can be lost; without counters of ours to tell, it may have been.
        const bool side_band_ring =
            record.event == nullptr || events.event(record.event->event).role == collector::EventRole::kSideBand;
        if (side_band_ring || !accounts.has_readings()) suspect_maps();
        if (record.event != nullptr && !side_band_ring) accounts.lost(record, *lost);
    }
    if (record.event == nullptr) return;
    if (const auto* read = std::get_if<collector::ReadRecord>(&record.record)) {
        if (!start) start = record.time;
        accounts.read(record, *read);
    } else if (const auto* throttle = std::get_if<collector::ThrottleRecord>(&record.record)) {
        accounts.throttle(record, *throttle);
    } else if (const auto* samples = std::get_if<collector::LostSamplesRecord>(&record.record)) {
        accounts.lost_samples(record, *samples);
    }
}

// The processes stay suspect until a snapshot has been applied; the slice says that its names may be wrong.
void SliceBuilder::State::suspect_maps() {
    maps_suspect = true;
    maps_unhealed = true;
    processes.mark_all_suspect();
}

void SliceBuilder::State::end_parts_before(MonotonicTime time) {
    if (!part_start) part_start = start;
    const std::int64_t passed = (time - *part_start) / part_length;
    if (passed < 1) return;
    end_part(*part_start + part_length);
    const Nanoseconds silent = part_length * ((passed - 2 + kMostSilentParts) / kMostSilentParts);
    while (*part_start + part_length <= time) end_part(std::min(*part_start + silent, time));
}

void SliceBuilder::State::end_part(MonotonicTime end) {
    Slice& slice = open.slice();
    slice.start = *part_start;
    slice.end = end;
    auto part = open.finish();
    open.start(empty_slice());
    part_start = end;
    deliver_part(std::move(part));
}

void SliceBuilder::State::cut(const collector::Cut& cut) {
    if (cut.lost_side_band != 0 && !maps_suspect) suspect_maps();  // the ring has not said so itself yet
    Slice& slice = open.slice();
    accounts.close(cut, slice);
    slice.waits = cut.waits;
    if (exclusion != nullptr) {
        hide_throttled(slice.waits);
        exclusion->begin_slice();
    }
    slice.start = start.value_or(cut.time);
    slice.end = cut.time;
    slice.wall_end = cut.wall;
    slice.lost_side_band = cut.lost_side_band;
    slice.maps_suspect = maps_suspect;
    slice.clock_stepped = cut.clock_stepped;
    slice.last = cut.last;

    auto full = open.finish();
    open.start(empty_slice());
    start = cut.time;
    part_start = cut.time;
    // A process that ended during the last slice may still have samples on their way.
    if (previous_cut) processes.forget_exited_before(*previous_cut);
    previous_cut = cut.time;
    ++version;
    (void)open.slice();  // nothing is pending in numbers that trim() may take back
    chains.trim();
    maps_suspect = maps_unhealed;
    deliver(std::move(full));
}

void SliceBuilder::State::hide_throttled(collector::Waits& waits) {
    for (auto& row : waits.throttled) {
        if (exclusion->takes_cgroup(row.path)) row.path = kExcluded;
    }
}

std::unique_ptr<Slice> SliceBuilder::State::empty_slice() {
    if (spare.empty()) return std::make_unique<Slice>();
    auto slice = std::move(spare.back());
    spare.pop_back();
    return slice;
}

}  // namespace perfvigil::analyzer
