// SPDX-License-Identifier: GPL-2.0-or-later
// A live recording: opens the events, drains the rings, orders the records, cuts slices. Daemon and command line run
// the same one. A RecordSource whose records are the kernel's own plus those read from /proc at the start (the same
// kinds the ring would have sent).
//
//   per CPU:  [cycles, cpu-clock] ─▶ sample ring      two rings, so that a storm of exec and mmap cannot
//             [dummy]             ─▶ side-band ring   push samples out
//
// What consumers may rely on:
//  - The stream begins with what already ran (FORK, COMM, MMAP2, CGROUP, then FINISHED_INIT). After a loss of side-band
//    records the same comes again, at the time it was read.
//  - The first READ record of an instance is its baseline: nothing before it counts.
//  - A cut's READ records are delivered right before it. They are the only records that may be a few milliseconds ahead
//    of what follows: they carry the time at which they were read.
//  - Cut::time is the slice's boundary, or, when pump() came more than 10 ms after it or wall time stepped, the moment
//    at which the counters were read. Cut::wall is therefore not always a multiple of the slice.
//  - Instances that a change of rate has replaced leave events() after the cut that was their last.
//
// Thread: one owner, and one for all sessions of the same EventKernel. Never blocks, never symbolizes, never writes to
// disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"
#include "collector/processes.hpp"
#include "collector/recording_options.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

// Plain counters of what the session did and suffered; cumulative.
struct SessionCounters {
    std::uint64_t records = 0;
    std::uint64_t samples = 0;
    std::uint64_t lost_sample_records = 0;     // records lost in sample rings, by their PERF_RECORD_LOST
    std::uint64_t lost_side_band_records = 0;  // … in side-band rings
    std::uint64_t late_records = 0;            // before a cut already made
    std::uint64_t malformed_records = 0;
    std::uint64_t unknown_ids = 0;
    std::uint64_t duplicate_samples = 0;  // discarded while two generations overlapped
    std::uint64_t resyncs = 0;            // /proc read again after side-band loss
    std::uint64_t cpus_gone = 0;
    std::uint64_t cpus_back = 0;
    std::uint64_t ring_bytes = 0;  // now, all rings
};

class EventKernel;

class RecordingSession final : public RecordSource {
public:
    // Opens everything (disabled), tries the fallbacks of FACTS §3 and reports each step in degraded(). The error
    // names the first thing that made recording impossible, with its remedy.
    [[nodiscard]] static Result<std::unique_ptr<RecordingSession>> open(RecordingOptions options, const Clock& clock);
    // The same against another kernel, which must outlive the session.
    [[nodiscard]] static Result<std::unique_ptr<RecordingSession>> open(RecordingOptions options, const Clock& clock,
                                                                        EventKernel& kernel);
    ~RecordingSession() override;

    // Enables the events; reads /proc for what already runs. Called once.
    [[nodiscard]] Result<void> start();

    [[nodiscard]] const EventTable& events() const override;
    [[nodiscard]] Result<void> pump(RecordSink& sink) override;
    [[nodiscard]] std::optional<MonotonicTime> next_pump() const override;
    [[nodiscard]] Result<void> finish(RecordSink& sink) override;

    // Asks for other rates, ring sizes or depth. Takes effect at the next cut, make-before-break: the new set is
    // opened and enabled beside the old one, one timestamp decides which of the two a sample belongs to, doubles are
    // discarded and counted. On failure the old set stays.
    void retune(const Tuning& tuning);
    [[nodiscard]] const Tuning& tuning() const;

    [[nodiscard]] const std::vector<Degraded>& degraded() const;
    [[nodiscard]] const std::vector<CpuId>& cpus() const;  // recorded now
    [[nodiscard]] const SessionCounters& counters() const;
    // cpu_times holds /proc/stat as of start().
    [[nodiscard]] const HostFacts& host() const;

private:
    struct State;
    explicit RecordingSession(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::collector
