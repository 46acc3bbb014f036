// SPDX-License-Identifier: GPL-2.0-or-later
// What changes while a session records.
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "collector/recording_loop.hpp"

namespace perfvigil::collector {
namespace {

using std::chrono::seconds;

constexpr Nanoseconds kSwitchLead = seconds(1);       // how long before its cut a generation is opened
constexpr std::uint64_t kMaxSideBandRing = 8U << 20;  // per CPU, for growth by ourselves
constexpr Nanoseconds kWatchInterval = seconds(1);
constexpr std::size_t kFewUnreadable = 20;  // one process in this many is no matter of rights
constexpr std::string_view kCpuNotRecorded = "cpu_not_recorded";
constexpr std::string_view kRetuneFailed = "retune_failed";
constexpr int kResyncShare = 10;  // reading /proc again takes at most one part in this many of the time

}  // namespace

// --- another rate, ring size or depth

void RecordingLoop::prepare_next_generation(MonotonicTime now) {
    if (!wanted_ || next_ || !closing_.empty()) return;
    if (slice_->boundary() - now > std::min(kSwitchLead, parts_.options.slice / 2)) return;
    const Tuning wanted = *wanted_;
    wanted_.reset();
    open_next_generation(wanted);
}

void RecordingLoop::open_next_generation(const Tuning& wanted) {
    const std::size_t cpus = current_->cpus().size();
    RecordingPlan plan = current_->plan();
    std::vector<Degraded> limits;
    plan.tuning = limit_tuning(parts_.kernel, parts_.options, wanted, cpus, limits);
    for (Degraded& limit : limits) note(std::move(limit));
    if (plan.tuning == current_->plan().tuning) return note(kRetuneFailed, std::nullopt);

    const bool grows = plan.tuning.side_band_ring_bytes > current_->plan().tuning.side_band_ring_bytes;
    const auto refuse = [&](const std::string& why, std::string remedy) {
        if (grows) side_band_may_grow_ = false;
        note({"retune_failed", "the recording goes on unchanged: " + why, std::move(remedy)});
    };
    const std::uint64_t both = current_->bytes() + ring_bytes(plan.tuning, cpus, parts_.kernel.page_size());
    if (both > parts_.options.rings_total_bytes) {
        return refuse(fmt::format("old and new rings together need {} KiB, rings.total is {} KiB", both >> 10,
                                  parts_.options.rings_total_bytes >> 10),
                      "Raise rings.total.");
    }
    if (!plan.threads.empty()) {
        auto threads = list_threads(parts_.kernel.proc_root(), parts_.options.target);
        if (!threads) return refuse(threads.error().message, "");
        plan.threads = std::move(*threads);
    }
    auto opened = open_event_set({parts_.kernel, parts_.table, parts_.options, std::move(plan), parts_.indices, cpus_,
                                  next_generation_, RingFallback::kNone},
                                 parts_.degraded);
    if (!opened) return refuse(opened.error().message, "");
    if (const int error = (*opened)->enable(); error != 0) {
        return refuse(errno_error(error, "enabling the events").message, "");
    }
    next_ = std::move(*opened);
    ++next_generation_;
    note(kRetuneFailed, std::nullopt);
}

// --- lost side-band records

void RecordingLoop::side_band_lost(std::uint64_t records) {
    parts_.counters.lost_side_band_records += records;
    side_band_lost_since_cut_ += records;
    resync_wanted_ = true;
    grow_side_band();
}

void RecordingLoop::grow_side_band() {
    if (!side_band_may_grow_ || next_) return;
    Tuning tuning = wanted_.value_or(current_->plan().tuning);
    const std::uint64_t now = current_->plan().tuning.side_band_ring_bytes;
    if (tuning.side_band_ring_bytes > now || now >= kMaxSideBandRing) return;
    tuning.side_band_ring_bytes = 2 * now;
    wanted_ = tuning;
}

void RecordingLoop::resync(MonotonicTime now) {
    if (feed_.active() || !resync_wanted_ || now < next_resync_) return;
    if (current_->cpus().empty()) return;
    resync_wanted_ = false;
    ++parts_.counters.resyncs;
    resync_began_ = now;
    next_resync_ = now + seconds(1);
    // Children of the target may be anyone by now.
    feed_.begin(side_band_origin(now), StateFeed::Stamp::kNow,
                parts_.options.inherit ? std::vector<Pid>{} : target_pids());
}

void RecordingLoop::resynced(MonotonicTime now) {
    next_resync_ = std::max(next_resync_, now + kResyncShare * (now - resync_began_));
}

// A single process may refuse even root (it runs in a namespace of its own, or is not dumpable): its samples show as
// unresolved. When many do, rights are missing.
void RecordingLoop::note_unreadable() {
    if (feed_.unreadable() * kFewUnreadable <= feed_.processes_read()) return;
    note(
        {"no_foreign_maps",
         fmt::format("{} of {} processes did not let us read their mappings, so their code has no names until they map "
                     "it anew",
                     feed_.unreadable(), feed_.processes_read()),
         "Grant CAP_SYS_PTRACE, or run as root."});
}

RecordOrigin RecordingLoop::side_band_origin(MonotonicTime time) const {
    for (const auto& rings : current_->cpus()) {
        for (const OpenInstance& instance : rings->instances()) {
            if (instance.kind == RingKind::kSideBand) return {instance.layout, instance.id, instance.cpu, time};
        }
    }
    return {current_->layout(RingKind::kSideBand), EventId{0}, CpuId{0}, time};
}

std::vector<Pid> RecordingLoop::target_pids() const {
    std::vector<Pid> pids;
    for (const TargetThread& thread : current_->plan().threads) pids.push_back(thread.pid);
    std::ranges::sort(pids);
    const auto doubles = std::ranges::unique(pids);
    pids.erase(doubles.begin(), doubles.end());
    return pids;
}

// --- CPUs and tasks that come and go

void RecordingLoop::watch(MonotonicTime now) {
    if (now < next_watch_) return;
    next_watch_ = now + kWatchInterval;
    watch_cpus();
    ended_ = !current_->alive();
}

void RecordingLoop::watch_cpus() {
    const auto online = parts_.kernel.online_cpus();
    if (!online) return;
    const auto is_online = [&](CpuId cpu) { return std::ranges::find(*online, cpu) != online->end(); };
    for (auto& rings : current_->cpus()) {
        if (!is_online(rings->cpu())) cpu_gone(*rings);
    }
    note(kCpuOffline, offline_cpus(parts_.options.cpus, *online));
    // A generation that is about to begin was opened for the CPUs of its time.
    if (next_) return;
    std::string refused;
    for (const CpuId cpu : *online) {
        if (!parts_.options.wants(cpu) || current_->has(cpu)) continue;
        if (const auto why = open_cpu(cpu))
            refused += fmt::format("{}cpu {}: {}", refused.empty() ? "" : "; ", cpu.value, *why);
    }
    if (refused.empty()) return note(kCpuNotRecorded, std::nullopt);
    note({"cpu_not_recorded", fmt::format("CPUs came online and are not recorded: {}", refused),
          "It is tried again every second."});
}

void RecordingLoop::cpu_gone(CpuRings& rings) {
    const CpuId cpu = rings.cpu();
    if (std::ranges::find(closing_, cpu, &ClosingCpu::cpu) != closing_.end()) return;
    ++parts_.counters.cpus_gone;
    // Its last counters; what is still in its rings is older and goes out first.
    push_reads(rings, current_->generation());
    closing_.push_back({cpu, parts_.clock.monotonic()});
}

void RecordingLoop::close_gone_cpus() {
    const auto closed = std::ranges::remove_if(closing_, [this](const ClosingCpu& gone) {
        if (delivered_until_ <= gone.after || pending_) return false;
        current_->close_cpu(gone.cpu);
        if (next_) next_->close_cpu(gone.cpu);
        return true;
    });
    if (closed.empty()) return;
    closing_.erase(closed.begin(), closed.end());
    const RecordOrigin origin = side_band_origin({});
    feed_.set_origin(origin.id, origin.cpu);
    update_cpus();
}

std::optional<std::string> RecordingLoop::open_cpu(CpuId cpu) {
    const std::size_t page = parts_.kernel.page_size();
    if (ring_bytes(current_->plan().tuning, current_->cpus().size() + 1, page) > parts_.options.rings_total_bytes) {
        return "rings.total is used up: raise it";
    }
    if (const auto opened = current_->open_cpu(cpu); !opened) {
        return open_error(parts_.kernel, parts_.options, opened.error().what, opened.error().failure).message;
    }
    parts_.kernel.seal_descriptors();
    if (const int error = current_->enable_cpu(cpu); error != 0) {
        current_->close_cpu(cpu);
        return errno_error(error, "enabling its events").message;
    }
    ++parts_.counters.cpus_back;
    for (auto& rings : current_->cpus()) {
        if (rings->cpu() == cpu) push_reads(*rings, current_->generation());
    }
    update_cpus();
    return std::nullopt;
}

void RecordingLoop::update_cpus() {
    cpus_.clear();
    for (const auto& rings : current_->cpus()) cpus_.push_back(rings->cpu());
    note(kEventMissing, missing_events(*current_));
}

}  // namespace perfvigil::collector
