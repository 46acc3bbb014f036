// SPDX-License-Identifier: GPL-2.0-or-later
// What a session does between its start and its end: drain, order, cut, and the changes that happen on the way (rates,
// CPUs that come and go, lost side-band records). RecordingSession is its public face.
//
//   pump:  [counters read, if a slice ends]  →  drain all rings  →  deliver what is older than drain − kSlack
//                                                               →  deliver the cut, once that is past its time
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collector/event_set.hpp"
#include "collector/open_event_set.hpp"
#include "collector/record_delivery.hpp"
#include "collector/recording_session.hpp"
#include "collector/slice_clock.hpp"
#include "collector/state_feed.hpp"

namespace perfvigil::collector {

// A record is committed to its ring within this after its time was taken.
inline constexpr Nanoseconds kSlack = std::chrono::milliseconds(20);

class RecordingLoop {
public:
    struct Parts {
        EventKernel& kernel;
        const Clock& clock;
        RecordingOptions options;
        EventTable& table;
        std::vector<EventIndex> indices;
        std::vector<Degraded>& degraded;
        SessionCounters& counters;
    };
    RecordingLoop(Parts parts, std::unique_ptr<EventSet> set);

    [[nodiscard]] Result<void> start();
    void pump(RecordSink& sink);
    void finish(RecordSink& sink);
    [[nodiscard]] std::optional<MonotonicTime> next_pump() const;

    void retune(const Tuning& tuning) { wanted_ = tuning; }
    [[nodiscard]] const Tuning& tuning() const { return current_->plan().tuning; }
    [[nodiscard]] const std::vector<CpuId>& cpus() const { return cpus_; }

private:
    struct PendingCut {
        Cut cut;
        bool switches = false;  // the next generation begins here
        struct Read {
            std::vector<std::byte> record;
            RingKind kind = RingKind::kSamples;
        };
        std::vector<Read> reads;
    };
    struct ClosingCpu {
        CpuId cpu{};
        MonotonicTime after{};  // when this has been delivered
    };

    // recording_loop.cpp
    void drain();
    bool drain_ring(CpuRings& rings, RingKind kind, std::uint32_t generation, std::uint64_t capacity);
    void look_at(CpuRings& rings, RingKind kind, const RecordHeader& header, Bytes record);
    [[nodiscard]] PendingCut begin_cut(const SliceClock::Due& due);
    void read_counters(EventSet& set, PendingCut& cut);
    void complete_cut(const PendingCut& done, RecordSink& sink);
    void skip_stuck_rings();
    void prove_delivery();
    void push_reads(CpuRings& rings, std::uint32_t generation);
    [[nodiscard]] Bytes encode_read(const OpenInstance& instance, const Counter& counter);
    void schedule(MonotonicTime now);

    // recording_changes.cpp
    void prepare_next_generation(MonotonicTime now);
    void open_next_generation(const Tuning& wanted);
    void side_band_lost(std::uint64_t records);
    void grow_side_band();
    void resync(MonotonicTime now);
    void resynced(MonotonicTime now);
    void note_unreadable();
    void watch(MonotonicTime now);
    void watch_cpus();
    void cpu_gone(CpuRings& rings);
    [[nodiscard]] std::optional<std::string> open_cpu(CpuId cpu);  // why it cannot be recorded
    void close_gone_cpus();
    void update_cpus();
    [[nodiscard]] RecordOrigin side_band_origin(MonotonicTime time) const;
    [[nodiscard]] std::vector<Pid> target_pids() const;
    [[nodiscard]] bool whole_cpus() const { return std::holds_alternative<AllCpus>(parts_.options.target); }
    void note(Degraded entry) { note_degraded(parts_.degraded, std::move(entry)); }
    void note(std::string_view reason, std::optional<Degraded> now) {
        set_degraded(parts_.degraded, reason, std::move(now));
    }

    Parts parts_;
    RecordDelivery delivery_;
    std::unique_ptr<EventSet> current_;
    std::unique_ptr<EventSet> next_;  // enabled beside the current one until the next cut
    std::uint32_t next_generation_ = 1;
    std::optional<Tuning> wanted_;
    StateFeed feed_;
    RecordEncoder encoder_;
    std::unique_ptr<SliceClock> slice_;  // from start() on
    std::optional<PendingCut> pending_;
    std::vector<CpuId> cpus_;
    std::vector<ClosingCpu> closing_;
    MonotonicTime last_cut_{};
    MonotonicTime drained_until_{};  // everything committed before this is in delivery_
    MonotonicTime delivered_until_{};
    double fill_ = 0;  // of the fullest ring at the last drain
    bool drain_again_ = false;
    std::uint64_t side_band_lost_since_cut_ = 0;
    bool side_band_may_grow_ = true;
    bool resync_wanted_ = false;
    MonotonicTime next_resync_{};
    MonotonicTime resync_began_{};
    MonotonicTime next_watch_{};
    std::optional<MonotonicTime> next_pump_;
    bool ended_ = false;
};

}  // namespace perfvigil::collector
