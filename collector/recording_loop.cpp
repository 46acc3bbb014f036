// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/recording_loop.hpp"

#include <algorithm>
#include <cerrno>

#include "collector/silent_events.hpp"

namespace perfvigil::collector {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr RingKind kKinds[] = {RingKind::kSamples, RingKind::kSideBand};
constexpr std::uint64_t kRecordsPerRelease = 64;
constexpr Nanoseconds kShortestDrain = milliseconds(5);
constexpr double kComfortableFill = 0.25;
constexpr Nanoseconds kFeedBudget = milliseconds(10);  // of one pump
constexpr Nanoseconds kFeedPause = milliseconds(20);
constexpr Nanoseconds kStartPiece = milliseconds(50);  // rings are drained between pieces of /proc
constexpr Nanoseconds kStartLimit = seconds(10);

ProcMaps maps_wanted(const RecordingOptions& options) {
    return options.call_chains == CallChains::kStackDumps ? ProcMaps::kFiles : ProcMaps::kCode;
}

}  // namespace

RecordingLoop::RecordingLoop(Parts parts, std::unique_ptr<EventSet> set)
    : parts_(std::move(parts)),
      delivery_(parts_.table, parts_.counters),
      current_(std::move(set)),
      feed_(parts_.clock, parts_.kernel.proc_root(), maps_wanted(parts_.options),
            [this](MonotonicTime time, Bytes record) {
                delivery_.push_at(time, record, RingKind::kSideBand, current_->generation());
            }) {
    delivery_.set_layouts(current_->layout(RingKind::kSamples), current_->layout(RingKind::kSideBand));
    update_cpus();
}

Result<void> RecordingLoop::start() {
    // The first look is what the first cut's is compared with.
    if (whole_cpus()) (void)parts_.kernel.waits(parts_.clock.monotonic());
    const MonotonicTime enabled_at = parts_.clock.monotonic();
    if (const int error = current_->enable(); error != 0) return fail_errno(error, "enabling the events");
    for (auto& rings : current_->cpus()) push_reads(*rings, current_->generation());

    feed_.begin(side_band_origin(enabled_at - Nanoseconds(1)), StateFeed::Stamp::kFixed, target_pids());
    while (!feed_.step(kStartPiece)) {
        drain();
        if (parts_.clock.monotonic() - enabled_at < kStartLimit) continue;
        feed_.stamp_now();
        note(Degraded{"slow_proc",
                      "reading /proc at the start took over 10 s; processes not read by then get their names late",
                      ""});
        break;
    }
    note_unreadable();
    const MonotonicTime now = parts_.clock.monotonic();
    slice_ = std::make_unique<SliceClock>(parts_.clock, parts_.options.slice);
    last_cut_ = now;
    next_watch_ = now + seconds(1);
    schedule(now);
    return {};
}

void RecordingLoop::pump(RecordSink& sink) {
    if (!slice_ || ended_) return;
    if (!pending_) {
        if (const auto due = slice_->due()) pending_ = begin_cut(*due);
    }
    const MonotonicTime now = parts_.clock.monotonic();
    if (!pending_) {
        watch(now);
        prepare_next_generation(now);
        resync(now);
    }
    drain();
    const MonotonicTime settled = drained_until_ - kSlack;
    if (pending_ && settled >= pending_->cut.time) {
        complete_cut(*pending_, sink);
        pending_.reset();
    }
    // While a cut is pending nothing is read from /proc: its records would belong to a generation that ends there.
    if (!pending_ && feed_.active() && feed_.step(kFeedBudget)) resynced(parts_.clock.monotonic());
    delivered_until_ = std::min(settled, pending_ ? pending_->cut.time : slice_->boundary());
    delivery_.deliver_before(delivered_until_, sink);
    close_gone_cpus();
    schedule(now);
}

void RecordingLoop::finish(RecordSink& sink) {
    if (!slice_) return;
    // Disabled events write nothing more, so what is drained now is all there will be.
    current_->disable();
    if (next_) next_->disable();
    do drain();
    while (drain_again_);
    if (pending_) complete_cut(*pending_, sink);
    pending_.reset();
    next_.reset();
    PendingCut end = begin_cut(slice_->now());
    end.cut.last = true;
    complete_cut(end, sink);
    delivery_.deliver_before(MonotonicTime::max(), sink);
    // The instances stay in the table: a capture is finished after its session.
    slice_.reset();
    next_pump_.reset();
}

std::optional<MonotonicTime> RecordingLoop::next_pump() const { return ended_ ? std::nullopt : next_pump_; }

// --- draining

void RecordingLoop::drain() {
    const MonotonicTime start = parts_.clock.monotonic();
    fill_ = 0;
    bool complete = true;
    for (EventSet* set : {current_.get(), next_.get()}) {
        if (set == nullptr) continue;
        const Tuning& tuning = set->plan().tuning;
        for (auto& rings : set->cpus()) {
            for (const RingKind kind : kKinds) {
                const std::uint64_t capacity =
                    kind == RingKind::kSamples ? tuning.sample_ring_bytes : tuning.side_band_ring_bytes;
                complete = drain_ring(*rings, kind, set->generation(), capacity) && complete;
            }
        }
    }
    // A ring's head is read anew for every record, so all that was committed before `start` has been seen.
    if (complete) drained_until_ = start;
    drain_again_ = !complete;
}

// False: the writer is faster than we are; the rest is left for the next drain.
bool RecordingLoop::drain_ring(CpuRings& rings, RingKind kind, std::uint32_t generation, std::uint64_t capacity) {
    EventRing& ring = rings.ring(kind);
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
    bool complete = true;
    for (Bytes record = ring.next(); !record.empty(); record = ring.next()) {
        if (const auto header = peek_header(record)) look_at(rings, kind, *header, record);
        delivery_.push(record, kind, generation);
        bytes += record.size();
        if (++records % kRecordsPerRelease == 0) ring.release();
        if (bytes > 2 * capacity) {
            complete = false;
            break;
        }
    }
    ring.release();
    rings.traffic(kind).drained += records;
    fill_ = std::max(fill_, static_cast<double>(bytes) / static_cast<double>(capacity));
    return complete;
}

// What is of interest before its turn has come.
void RecordingLoop::look_at(CpuRings& rings, RingKind kind, const RecordHeader& header, Bytes record) {
    // A LOST record has {id, lost}, a sample begins with its event's id.
    ByteReader in(record.subspan(std::min(record.size(), kRecordHeaderSize)));
    if (header.type == kRecordSample && kind == RingKind::kSamples && rings.awaits_samples()) {
        rings.note_sample(EventId{in.u64()});
    } else if (header.type == kRecordLost) {
        (void)in.u64();
        const std::uint64_t lost = in.u64();
        if (kind == RingKind::kSideBand)
            side_band_lost(lost);
        else
            parts_.counters.lost_sample_records += lost;
    }
}

// --- cuts

RecordingLoop::PendingCut RecordingLoop::begin_cut(const SliceClock::Due& due) {
    PendingCut begun;
    begun.cut.time = due.time;
    begun.cut.wall = due.wall;
    begun.cut.clock_stepped = due.stepped;
    begun.switches = next_ != nullptr;
    read_counters(*current_, begun);
    if (next_) read_counters(*next_, begun);
    prove_delivery();
    begun.cut.cpu_times = parts_.kernel.cpu_times();
    if (whole_cpus()) begun.cut.waits = parts_.kernel.waits(due.time);
    begun.cut.modules = parts_.kernel.new_modules();
    // Without PERF_FORMAT_LOST the rings' own records must do.
    const std::uint64_t from_records = std::exchange(side_band_lost_since_cut_, 0);
    if (!current_->plan().features.has(Feature::kLostCounts)) begun.cut.lost_side_band = from_records;
    if (begun.cut.lost_side_band > 0) side_band_lost(0);
    return begun;
}

void RecordingLoop::read_counters(EventSet& set, PendingCut& cut) {
    const bool current = &set == current_.get();
    std::vector<CpuRings*> silent;
    for (auto& rings : set.cpus()) {
        for (const RingKind kind : kKinds) rings->traffic(kind).lost = 0;
        bool stands_still = false;
        for (std::size_t i = 0; i < rings->instances().size(); ++i) {
            const OpenInstance& instance = rings->instances()[i];
            const auto counter = rings->read(i);
            if (!counter) continue;
            const Bytes record = encode_read(instance, *counter);
            cut.reads.push_back({{record.begin(), record.end()}, instance.kind});
            Counter& last = rings->last(i);
            const std::uint64_t lost = counter->lost - last.lost;
            rings->traffic(instance.kind).lost += lost;
            if (current && instance.kind == RingKind::kSideBand) cut.cut.lost_side_band += lost;
            stands_still = stands_still || counter->enabled == last.enabled;
            last = *counter;
        }
        const bool long_enough = cut.cut.time - last_cut_ > kSlack;
        if (current && stands_still && whole_cpus() && long_enough) silent.push_back(rings.get());
    }
    // A CPU that went offline and came back between two looks has lost its events for good; enabled time shows it.
    for (CpuRings* rings : silent) cpu_gone(*rings);
}

// What is said of silent events is as of the last cut: a counter may come and go.
void RecordingLoop::prove_delivery() { note(kEventSilent, silent_events(*current_, parts_.table)); }

void RecordingLoop::complete_cut(const PendingCut& done, RecordSink& sink) {
    const MonotonicTime time = done.cut.time;
    delivery_.deliver_before(time, sink);
    for (const PendingCut::Read& read : done.reads) delivery_.deliver_now(read.record, read.kind, sink);
    delivery_.cut_made(time);
    sink.on_cut(done.cut);
    skip_stuck_rings();
    if (done.switches && next_) {
        delivery_.switch_to(next_->generation(), time);
        current_ = std::move(next_);
        const RecordOrigin origin = side_band_origin(time);
        feed_.set_origin(origin.id, origin.cpu);
        update_cpus();
    }
    last_cut_ = time;
    slice_->cut_made(time);
}

// A ring that loses and yields nothing holds a record we cannot step over.
void RecordingLoop::skip_stuck_rings() {
    for (auto& rings : current_->cpus()) {
        for (const RingKind kind : kKinds) {
            CpuRings::Traffic& traffic = rings->traffic(kind);
            if (traffic.lost > 0 && traffic.drained == 0) {
                rings->ring(kind).skip_to_head();
                ++parts_.counters.malformed_records;
            }
            traffic = {};
        }
    }
}

void RecordingLoop::push_reads(CpuRings& rings, std::uint32_t generation) {
    for (std::size_t i = 0; i < rings.instances().size(); ++i) {
        const OpenInstance& instance = rings.instances()[i];
        const auto counter = rings.read(i);
        if (!counter) continue;
        rings.last(i) = *counter;
        delivery_.push(encode_read(instance, *counter), instance.kind, generation);
    }
}

Bytes RecordingLoop::encode_read(const OpenInstance& instance, const Counter& counter) {
    const RecordOrigin origin{instance.layout, instance.id, instance.cpu, parts_.clock.monotonic()};
    return encoder_.read(origin, instance.pid, instance.tid, counter);
}

// --- when to come again

void RecordingLoop::schedule(MonotonicTime now) {
    parts_.counters.ring_bytes = current_->bytes() + (next_ ? next_->bytes() : 0);
    Nanoseconds pause = parts_.options.drain_interval;
    if (fill_ > kComfortableFill) {
        const auto shorter =
            Nanoseconds(static_cast<std::int64_t>(static_cast<double>(pause.count()) * kComfortableFill / fill_));
        pause = std::max(std::min(kShortestDrain, pause), shorter);
    }
    if (drain_again_) pause = Nanoseconds(0);
    if (feed_.active()) pause = std::min(pause, kFeedPause);
    next_pump_ = std::min(now + pause, pending_ ? pending_->cut.time + kSlack + milliseconds(1) : slice_->boundary());
}

}  // namespace perfvigil::collector
