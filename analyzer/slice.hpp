// SPDX-License-Identifier: GPL-2.0-or-later
// A few seconds of the whole host, aggregated: the unit of metrics, of the loss loop, of triggers and of variance.
// Self-contained (stacks and processes are numbered within the slice), so it can be handed from thread to
// thread; emptied and refilled without allocating. Addresses only: nothing here has a function name yet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/event_table.hpp"
#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::analyzer {

// What a CPU was doing at a clock sample. Idle needs the swapper task, kernel mode and a chain under the idle loop
// without interrupt or softirq frames; softirq wins over the task it interrupts.
enum class Mode : std::uint8_t { kUser, kKernel, kSoftirq, kIdle };
inline constexpr std::size_t kModes = 4;
[[nodiscard]] constexpr std::size_t index_of(Mode mode) { return static_cast<std::size_t>(mode); }

struct Frame {
    // DsoId{0}: no Dso; `offset` is then one of NoDsoFrame.
    collector::DsoId dso{};
    // In the Dso's own terms (DsoKind). A return address is stored as address − 1, so it lies inside its call.
    std::uint64_t offset = 0;

    friend bool operator==(const Frame&, const Frame&) = default;
};

// What stands where code has no Dso. Addresses are not kept, so that garbage cannot fill the tables.
enum NoDsoFrame : std::uint64_t {
    kFrameUnmapped = 0,  // user code outside every mapping we know
    kFrameGuest = 1,     // inside a virtual machine's guest
    kFrameHypervisor = 2,
    kFrameCut = 3,       // not kept: the slice was full
    kFrameExcluded = 4,  // not kept: nobody is to know (Exclusion)
};

enum StackFlag : std::uint8_t {
    // A user frame outside every executable mapping of a process whose mappings are all known ended it. Where some
    // mappings may be unknown, one kFrameUnmapped stands for the rest instead and nobody is blamed.
    kStackBroken = 1,
    kStackTruncated = 2,    // as deep as max_stack allows, or as the recorded copy of the stack reaches
    kStackCut = 4,          // shortened by us to stay within memory
    kStackIdleLoop = 8,     // kernel part runs under the idle loop, no interrupt or softirq in it
    kStackSoftirq = 16,     // an interrupt-exit or softirq frame is in its kernel part
    kStackKernelLeaf = 32,  // the sampled instruction was in the kernel
    kStackNoUser = 64,      // a user task's sample without any user frame
    kStackGuessed = 128,    // for want of an unwind table a step was guessed by frame pointer, or the chain ends
};

// Name, control group, function and Dso of whatever is excluded (Exclusion).
inline constexpr std::string_view kExcluded = "(excluded)";

struct Stack {
    std::uint32_t first = 0;  // into Slice::stack_frames, innermost first; at least one
    std::uint16_t depth = 0;
    std::uint8_t flags = 0;
    collector::DsoId broken_in{};  // with kStackBroken: the Dso of the last good user frame
};

// Whose samples: one life of a program under one thread name in one cgroup.
struct Actor {
    Pid pid{};
    collector::ProcessEpoch epoch{};
    std::string comm;         // the thread's
    std::string cgroup_path;  // empty where unknown
    bool kernel_thread = false;
    collector::DsoRef program{};  // the file that was executed; null: unknown
    // Only where a file's analysis was asked to tell them apart (SampleSelection).
    std::optional<Tid> tid{};
    std::optional<CpuId> cpu{};

    friend bool operator==(const Actor&, const Actor&) = default;
};

struct Entry {
    collector::EventIndex event{};
    std::uint32_t stack = 0;  // into Slice::stacks
    std::uint32_t actor = 0;  // into Slice::actors
    bool idle = false;        // Mode::kIdle
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;  // clock events: ns (samples × p of their generation); others: Σ period
};

struct EventTotals {
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
    std::uint64_t lost = 0;  // Δ PERF_FORMAT_LOST; where the kernel has none, LOST records (lost_is_shared)
    bool lost_is_shared = false;
    std::uint64_t throttles = 0;
    Nanoseconds throttled{};       // between THROTTLE and UNTHROTTLE, summed over CPUs
    Nanoseconds nominal_period{};  // clock events: of the newest generation seen so far
    // Samples that a selection (SampleSelection) left out; in none of the numbers above.
    std::uint64_t left_out_samples = 0;
    std::uint64_t left_out_weight = 0;

    friend bool operator==(const EventTotals&, const EventTotals&) = default;
};

// Everything but the nominal period, which is no sum: the later one's stays where it has one.
void accumulate(EventTotals& sum, const EventTotals& more);

// The clock ledger's raw material on one CPU, between two readings of its counters.
struct CpuSlice {
    CpuId cpu{};
    // cpu-clock
    bool clock_recorded = false;
    bool time_estimated = false;                  // no counter readings (foreign file): T from sample times
    Nanoseconds enabled{};                        // T: Δ time_enabled
    double ticks_due = 0;                         // n = Σ over generations T_g / p_g
    std::uint64_t samples = 0;                    // N
    std::uint64_t idle_samples = 0;               // of them Mode::kIdle
    std::array<Nanoseconds, kModes> mode_time{};  // Σ p
    Nanoseconds irq_in_idle{};  // softirq/interrupt samples whose task is the swapper (also in mode_time)
    std::uint64_t lost = 0;     // L
    Nanoseconds lost_time{};    // Σ L_g p_g
    Nanoseconds throttled{};    // between THROTTLE and UNTHROTTLE
    // cycles: the first event of them that counts here
    bool cycles_recorded = false;
    std::uint64_t cycles_counted = 0;  // Δ counter, scaled by enabled/running
    bool cycles_scaled = false;        // running < enabled
    std::uint64_t cycles_sampled = 0;  // Σ period
    std::uint64_t cycles_samples = 0;
    std::uint64_t cycles_idle = 0;  // Σ period of those in Mode::kIdle
    std::uint64_t cycles_lost = 0;
    Nanoseconds cycles_throttled{};  // a throttled counter stands still
    Nanoseconds cycles_absent{};     // of `enabled`: no reading of such a counter covers it
    // /proc/stat deltas over the same stretch; absent where unknown.
    bool times_known = false;
    collector::CpuTimes times{};

    friend bool operator==(const CpuSlice&, const CpuSlice&) = default;
};

struct Slice {
    MonotonicTime start{};
    MonotonicTime end{};  // the cut; each CPU's own stretch ends at its counter reading a moment later
    WallTime wall_end{};
    std::vector<Frame> frames;                // each once
    std::vector<std::uint32_t> stack_frames;  // into frames
    std::vector<Stack> stacks;
    std::vector<Actor> actors;
    std::vector<collector::DsoRef> dsos;  // every Dso that a frame names, any order
    std::vector<Entry> entries;
    std::vector<EventTotals> totals;  // by EventIndex
    std::vector<CpuSlice> cpus;       // by ascending CPU
    collector::Waits waits;
    std::uint64_t late_records = 0;
    std::uint64_t lost_side_band = 0;
    std::uint64_t cut_frames = 0;  // frames dropped by the byte limit
    bool maps_suspect = false;
    bool idle_by_task = false;  // idle was told from the task alone: kernel text is hidden from us
    bool clock_stepped = false;
    bool last = false;

    void clear();  // keeps capacity, of the actors' texts too
    Actor& add_actor();

    // A stack's frames as positions in `frames`, innermost first.
    [[nodiscard]] std::span<const std::uint32_t> frames_of(const Stack& stack) const {
        return std::span(stack_frames).subspan(stack.first, stack.depth);
    }

private:
    std::vector<Actor> spare_actors_;
};

}  // namespace perfvigil::analyzer
