// SPDX-License-Identifier: GPL-2.0-or-later
// A recording that never happened, of which everything is known: CPUs with given loads, idle that is or is not
// sampled, steal, loss, throttling, events that begin late, CPUs that go and come back, changes of rate at a cut or
// between two, core types with PMUs of their own, late records. It has the shape of a
// RecordingSession's stream (or of a foreign capture's), so whatever consumes those can be tested against the truth.
//
//   time is cut into short stretches of one state each, chosen at random by the CPU's shares;
//   ticks come every period and show the state they hit; counters and /proc/stat are exact.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/build_id.hpp"
#include "collector/host_facts.hpp"
#include "collector/stream.hpp"
#include "tests/support/record_bytes.hpp"

namespace perfvigil::test {

struct SyntheticCpu {
    double busy = 0.5;    // share of the time that is not stolen in which a task runs
    double kernel = 0.3;  // shares of the busy time: in the kernel, in softirq work
    double softirq = 0.05;
    double irq_in_idle = 0.02;    // share of the time without a task in which the swapper does softirq work
    bool samples_idle = true;     // false: no sample is written while idle, nothing counts as lost
    double steal = 0;             // share of the time in which the hypervisor runs others: no ticks
    double lost = 0;              // share of the samples that are lost and counted
    double removed = 0;           // share of the samples that vanish without a trace
    double lost_time_share = 1;   // losses happen in the first part of each slice of this share
    double throttled = 0;         // share of each slice that is one throttled stretch of the clock
    double cycles_throttled = 0;  // the same of cycles, whose counter then stands still
    std::optional<double> busy_when_throttled{};  // in place of `busy` while cycles are
    double unthrottles_lost = 0;                  // share of the records of both's end that are lost, and counted
    std::optional<std::pair<Nanoseconds, Nanoseconds>> offline{};  // from, to; after the start
    Nanoseconds
        starts{};  // its events begin so long after the start; it runs, and the kernel counts it, from the start
    Nanoseconds noticed{};                        // its events begin so long after it came back
    std::size_t pmu = 0;                          // into SyntheticOptions::core_pmus
    std::uint64_t cycles_per_microsecond = 3000;  // while anything runs; a halted CPU counts none
    double polls = 0;                             // share of idle that counts cycles too
};

// One core type's PMU, and the number it has in an extended hardware event.
struct SyntheticPmu {
    std::string name;
    std::uint64_t type = 0;
};

struct SyntheticOptions {
    std::vector<SyntheticCpu> cpus{SyntheticCpu{}, SyntheticCpu{}};
    std::uint64_t hertz = 99;
    std::size_t slices = 4;
    Nanoseconds slice = std::chrono::seconds(5);
    std::uint64_t seed = 1;
    bool cycles = true;
    bool readings = true;     // false: as a foreign file, without READ, CPUs of instances and /proc/stat
    bool lost_counts = true;  // false: no PERF_FORMAT_LOST, LOST records in the ring instead
    bool proc_stat = true;
    bool proc_stat_in_ticks = true;  // /proc/stat counts whole 10 ms
    bool call_chains = true;
    std::size_t depth = 12;         // user frames of a chain
    std::size_t functions = 40;     // of the program
    std::vector<double> weights{};  // how often each of them is the innermost; empty: all alike
    std::string program = "/usr/bin/worker";
    BuildId program_build_id{};  // said in its mappings; empty: they have an inode
    std::size_t processes_per_cpu = 2;
    std::string comm = "worker";     // of all of them
    std::size_t late_per_slice = 0;  // records that come after the cut
    // Share of the time in which cycles has a counter; the rest others have it (multiplexing).
    double cycles_running = 1;
    // Slices that are cut early after a step of the wall clock, or a suspend: after so long, and wall time then jumps.
    std::map<std::size_t, Nanoseconds> stepped{};
    Nanoseconds step = std::chrono::hours(3);
    // Other rates from so long after the start on: make-before-break, at a cut where that falls on one.
    std::map<Nanoseconds, std::uint64_t> retunes{};
    std::vector<SyntheticPmu> core_pmus{};  // empty: all cores are alike, and "cycles" is one event
};

// What really happened on one CPU in one slice.
struct SyntheticTruth {
    CpuId cpu{};
    Nanoseconds enabled{};
    Nanoseconds task{};  // exactly: how long tasks ran …
    Nanoseconds idle{};  // … nothing did
    Nanoseconds irq_in_idle{};
    Nanoseconds stolen{};
    // Of ticks: what their samples show, and what became of those without one.
    std::uint64_t samples = 0;
    std::uint64_t idle_samples = 0;
    std::uint64_t irq_in_idle_samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t removed = 0;
    std::uint64_t throttled = 0;
    std::uint64_t idle_unsampled = 0;
    std::uint64_t stolen_ticks = 0;
    std::uint64_t lost_said = 0;  // by LOST records in the ring
    double ticks_due = 0;
    // The same ticks by the periods of their generations.
    struct Weights {
        Nanoseconds busy{};
        Nanoseconds idle{};
        Nanoseconds irq_in_idle{};
        Nanoseconds lost{};
        Nanoseconds lost_said{};
        Nanoseconds removed{};
        Nanoseconds idle_unsampled{};
        Nanoseconds stolen{};
    } weights{};
    Nanoseconds longest_period{};
    Nanoseconds throttled_time{};
    Nanoseconds cycles_throttled{};
    std::uint64_t cycles = 0;          // counted
    std::uint64_t cycles_in_idle = 0;  // of them
    std::uint64_t cycles_sampled = 0;  // Σ periods delivered
    std::uint64_t cycles_idle = 0;     // of them: by idle samples
    std::uint64_t cycles_lost = 0;     // samples

    // More of the same CPU.
    SyntheticTruth& operator+=(const SyntheticTruth& more);
};

// The kernel and the program of every synthetic recording.
struct SyntheticCode {
    static constexpr std::uint64_t kFunctionSize = 0x100;
    static constexpr std::uint64_t kProgramStart = 0x400000;
    static constexpr std::uint64_t kProgramOffset = 0x1000;  // in the file
    static constexpr std::uint64_t kProgramLength = 0x100000;
    static constexpr std::uint64_t kKernelStart = 0xffffffff81000000;

    // Names of the kernel's functions in order of address, kFunctionSize each.
    [[nodiscard]] static const std::vector<std::string>& kernel_functions();
    [[nodiscard]] static std::uint64_t kernel_address(std::string_view function);
    // What KernelText is made of.
    [[nodiscard]] static std::vector<collector::KernelTextRange> text_ranges();
    // The n-th function of the program in its file's terms.
    [[nodiscard]] static std::uint64_t program_offset(std::size_t function) {
        return kProgramOffset + function * kFunctionSize;
    }
};

class SyntheticStream final : public collector::RecordSource {
public:
    explicit SyntheticStream(SyntheticOptions options);
    ~SyntheticStream() override;

    [[nodiscard]] const collector::EventTable& events() const override { return table_; }
    // Delivers one slice with its cut. The last one is left for finish().
    [[nodiscard]] Result<void> pump(collector::RecordSink& sink) override;
    [[nodiscard]] std::optional<MonotonicTime> next_pump() const override;
    [[nodiscard]] Result<void> finish(collector::RecordSink& sink) override;
    // Pumps to the end and finishes.
    void run(collector::RecordSink& sink);

    // As a session would know its host: kernel text, /proc/stat at the start, clocks.
    [[nodiscard]] const collector::HostFacts& host() const { return host_; }
    // By slice, then by CPU (those without any time in the slice are left out).
    [[nodiscard]] const std::vector<std::vector<SyntheticTruth>>& truth() const { return truth_; }
    [[nodiscard]] MonotonicTime start() const { return start_; }

    [[nodiscard]] static CgroupId cgroup_of(std::size_t cpu) { return CgroupId{100 + cpu}; }
    [[nodiscard]] static Pid pid_of(std::size_t cpu, std::size_t process) {
        return Pid{static_cast<std::int32_t>(1000 + cpu * 100 + process)};
    }

private:
    struct Recorded;
    struct Cpu;

    void add_events();
    // The rate and its number as of then.
    struct Rate {
        std::uint32_t generation = 0;
        std::uint64_t hertz = 0;
    };
    [[nodiscard]] Rate rate_at(MonotonicTime time) const;
    void open_cpu(std::size_t cpu, MonotonicTime time);
    void close_cpu(std::size_t cpu, MonotonicTime time, std::vector<Recorded>& out);
    void replace_events(std::size_t cpu, MonotonicTime time, std::vector<Recorded>& out);
    void deliver_start(collector::RecordSink& sink);
    void deliver_slice(collector::RecordSink& sink, bool last);
    void make_cpu_slice(std::size_t cpu, MonotonicTime from, MonotonicTime to, std::vector<Recorded>& out);
    // The CPU stays in its state for this long.
    static void spend(Cpu& cpu, Nanoseconds time);
    void next_state(Cpu& cpu, MonotonicTime time);
    void apply_changes(std::size_t cpu, MonotonicTime time, MonotonicTime slice_end, std::vector<Recorded>& out);
    [[nodiscard]] MonotonicTime next_change(const Cpu& cpu, MonotonicTime time, MonotonicTime slice_end) const;
    struct Stretch {
        MonotonicTime from{};
        MonotonicTime to{};
    };
    [[nodiscard]] Stretch clock_throttled(const Cpu& cpu, MonotonicTime slice_end) const;
    [[nodiscard]] Stretch cycles_throttled(const Cpu& cpu, MonotonicTime slice_end) const;
    [[nodiscard]] Stretch share_of_slice(MonotonicTime slice_end, double from, double length) const;
    void change_throttling(std::size_t cpu, MonotonicTime time, MonotonicTime slice_end, std::vector<Recorded>& out);
    void tick(std::size_t cpu, MonotonicTime time, MonotonicTime slice_end, std::vector<Recorded>& out);
    void lose(Cpu& cpu) const;
    void throttle(std::size_t cpu, EventId id, MonotonicTime time, bool throttled, std::vector<Recorded>& out);
    void write_cycles_sample(std::size_t cpu, MonotonicTime time, SampleFields sample, std::vector<Recorded>& out);
    void write_samples(std::size_t cpu, MonotonicTime time, std::vector<Recorded>& out);
    void hold_back(std::vector<Recorded>& records);
    void deliver_late(collector::RecordSink& sink);
    void deliver_readings(collector::RecordSink& sink, MonotonicTime end, bool retune);
    void move_sample(const Recorded& recorded, bool in);
    void read_cpu(std::size_t cpu, MonotonicTime time, std::vector<Recorded>& out);
    void deliver(collector::RecordSink& sink, const Recorded& recorded, bool late);
    [[nodiscard]] std::vector<collector::CpuTimes> proc_stat() const;
    [[nodiscard]] SampleFields sample_of(std::size_t cpu, MonotonicTime time);
    [[nodiscard]] Nanoseconds length_of(std::size_t slice) const;
    [[nodiscard]] std::size_t innermost_function();
    [[nodiscard]] double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

    SyntheticOptions options_;
    collector::EventTable table_;
    collector::HostFacts host_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<Cpu>> cpus_;
    std::vector<std::vector<SyntheticTruth>> truth_;
    std::vector<Recorded> held_back_;
    MonotonicTime start_{};
    MonotonicTime now_{};
    std::size_t slice_ = 0;
    Nanoseconds wall_ahead_{};     // by the steps so far
    std::vector<EventId> closed_;  // instances that leave the table after the next cut
    collector::EventIndex clock_{};
    std::vector<collector::EventIndex> cycles_;  // by PMU
    collector::EventIndex side_band_{};
    std::uint64_t next_id_ = 1;
};

}  // namespace perfvigil::test
