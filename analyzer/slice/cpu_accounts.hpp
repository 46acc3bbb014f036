// SPDX-License-Identifier: GPL-2.0-or-later
// Where each CPU's time and each event's counts went in the slice that is open. Knows counters, times and modes, no
// stacks.
//
//   READ (baseline) ── samples ── READ ┐ samples ── READ  READ (baseline) ── samples ── READ ┐
//   ──────────── a slice ──────────────┘ ── the next: another generation, a CPU that returns ┘
//                                  cut ↑
//
// An instance's first READ is its baseline; its stretches reach from one READ to the next, be that at a cut or within
// a slice (the last one of a CPU that leaves, of a generation that is replaced). T of a new generation begins where
// that of the old one ended, even if its baseline was read earlier. Where a file ends before the last READ, the clock's
// samples tell how long its CPUs were still recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/slice.hpp"
#include "collector/event_table.hpp"
#include "collector/record.hpp"
#include "collector/stream.hpp"

namespace perfvigil::analyzer {

// Which CPU a record speaks of: the one its instance counts, else the one its sample_id names.
[[nodiscard]] std::optional<CpuId> cpu_of(const collector::EventInstance& instance, const collector::SampleId& id);

class CpuAccounts {
public:
    explicit CpuAccounts(const collector::EventTable& events) : events_(events) {}

    // /proc/stat as it stood when the recording began.
    void set_baseline_times(const std::vector<collector::CpuTimes>& times);

    // Counts the sample; says what it weighs.
    std::uint64_t sample(const collector::OrderedRecord& record, const collector::SampleRecord& sample, Mode mode);
    // Counts a sample that is not wanted. That it came is known all the same, to the estimate of T too.
    void leave_out(const collector::OrderedRecord& record, const collector::SampleRecord& sample);

    void read(const collector::OrderedRecord& record, const collector::ReadRecord& read);
    void throttle(const collector::OrderedRecord& record, const collector::ThrottleRecord& throttle);
    void lost(const collector::OrderedRecord& record, const collector::LostRecord& lost);
    void lost_samples(const collector::OrderedRecord& record, const collector::LostSamplesRecord& lost);

    // Whether counters of this recording were read: then it is ours, and LOST in a sample ring means samples.
    [[nodiscard]] bool has_readings() const { return has_readings_; }

    // Ends the open slice at `cut`: fills its totals and cpus.
    void close(const collector::Cut& cut, Slice& slice);

private:
    // CPU numbers come from outside; Linux has at most this many (CONFIG_NR_CPUS).
    static constexpr std::uint32_t kMaxCpus = 8192;

    enum class Kind : std::uint8_t { kOther, kClock, kCycles };
    struct EventFacts {
        Kind kind = Kind::kOther;
        bool is_time = false;           // weighs by the instance's nominal period
        bool sees_all = false;          // user and kernel: the clock shows whole CPUs
        bool whole_cpu_likely = false;  // foreign files: samples carry CPUs and nothing says that it follows a task
        std::uint64_t fallback_weight = 1;
        std::uint32_t newest_generation = 0;
        Nanoseconds period{};  // of the newest generation
        bool lost_by_read = false;
        bool lost_by_records = false;  // LOST_SAMPLES seen
        std::uint64_t ring_lost = 0;   // LOST of an event that should have exact counts; used if those never come
    };
    struct Throttling {
        std::uint32_t generation = 0;
        MonotonicTime began{};
        MonotonicTime counted_until{};
        bool sampled = false;  // the sample that made it so has come
    };
    // One event on one CPU.
    struct Lane {
        std::optional<Throttling> throttled;
        MonotonicTime counted_until{};           // T of earlier instances reaches to here
        std::optional<MonotonicTime> read_at{};  // the newest READ, and whether it was a baseline
        bool baseline = false;
    };
    struct Cpu {
        std::vector<Lane> lanes;  // by EventIndex
        bool has_clock = false;
        std::optional<collector::EventIndex> cycles{};  // the event that its cycles are of
        Nanoseconds cycles_enabled{};                   // in the open slice
        Nanoseconds longest_period{};                   // of the clock in the open slice
        bool estimated = false;                         // its T reaches to estimated_until_
        std::uint64_t ring_lost = 0;                    // by LOST records of the open slice, where no counter says it
        Nanoseconds ring_lost_time{};                   // had all of them been the clock's
        bool times_known = false;
        collector::CpuTimes times{};  // at the previous cut
        std::uint64_t times_row = 0;  // number of the cut that `times` is of
    };
    struct Reading {
        std::uint64_t value = 0;
        std::uint64_t enabled = 0;
        std::uint64_t running = 0;
        std::uint64_t lost = 0;
        MonotonicTime counted_from{};  // until the first difference was taken: when the baseline was read
        bool fresh = true;             // no difference taken yet
    };
    void learn_events();
    [[nodiscard]] EventFacts& facts(collector::EventIndex event);
    [[nodiscard]] Cpu* cpu_of(std::uint32_t number);  // nullptr: no possible CPU
    [[nodiscard]] static Lane& lane_of(Cpu& cpu, collector::EventIndex event);
    [[nodiscard]] CpuSlice& cpu_slice(std::uint32_t number);
    [[nodiscard]] EventTotals& totals(collector::EventIndex event);
    static void note_generation(EventFacts& event, const collector::EventInstance& instance);
    [[nodiscard]] static std::uint64_t weight_of(const EventFacts& event, const collector::EventInstance& instance,
                                                 const collector::SampleRecord& sample);
    void note_clock_sample(const EventFacts& event, MonotonicTime time);

    void read_member(MonotonicTime time, const collector::EventInstance& instance, const collector::ReadView& view,
                     const collector::CounterValue& member);
    void add_stretch(Cpu& cpu, CpuSlice& slice, const collector::EventInstance& instance, const Reading& from,
                     const Reading& to);
    [[nodiscard]] bool counts_cycles(Cpu& cpu, collector::EventIndex event);
    void count_throttled(Cpu& cpu, CpuSlice& slice, collector::EventIndex event, MonotonicTime until);
    void end_throttling_by_sample(Cpu& cpu, CpuSlice& slice, const collector::EventInstance& instance,
                                  MonotonicTime time, Nanoseconds period);
    [[nodiscard]] Nanoseconds clock_period(const collector::EventInstance& instance) const;

    void estimate_time(const collector::Cut& cut);
    void estimate_tail(const collector::Cut& cut);
    void settle_losses(const collector::Cut& cut);
    void settle_throttling();
    void settle_cycles();
    void add_times(const collector::Cut& cut);
    [[nodiscard]] collector::CpuTimes within_stretch(const collector::CpuTimes& times, const CpuSlice& slice,
                                                     const collector::Cut& cut) const;
    void hand_over(Slice& slice);
    void forget_closed_instances();

    const collector::EventTable& events_;
    std::vector<EventFacts> facts_;
    std::optional<collector::EventIndex> clock_;                  // the event that busy and ledger are made of
    std::vector<Cpu> cpus_;                                       // by number
    boost::unordered_flat_map<std::uint64_t, Reading> readings_;  // by EventId, or by place where a READ names none
    std::vector<CpuSlice> open_cpus_;                             // by number
    std::vector<EventTotals> open_totals_;
    bool has_readings_ = false;
    std::optional<MonotonicTime> open_since_;  // the cut before, or the first reading
    std::uint64_t cut_number_ = 1;
    // Foreign files: the clock's samples seen, for an estimate of T.
    std::optional<MonotonicTime> first_clock_sample_;
    MonotonicTime last_clock_sample_{};
    std::optional<MonotonicTime> estimated_until_;
};

}  // namespace perfvigil::analyzer
