// SPDX-License-Identifier: GPL-2.0-or-later
// The one shape in which records reach everything downstream, live or from a file: in time order, each with the
// event instance that wrote it. Live sessions and file readers are RecordSources; slice building, capture writing
// and tests are RecordSinks.
//
//   live rings ─▶ TimeOrder ─┐
//   capture file ────────────┼─▶ on_record … on_record, on_cut, on_record … (on_end)
//   synthetic stream ────────┘
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/event_table.hpp"
#include "collector/kernel_modules.hpp"
#include "collector/record.hpp"
#include "collector/waits.hpp"

namespace perfvigil::collector {

struct OrderedRecord {
    MonotonicTime time{};
    const EventInstance* event = nullptr;  // nullptr: the record names no event (file-level, or unknown id)
    const Record& record;
    Bytes bytes;        // the record as the kernel (or the file) holds it
    bool late = false;  // its time lies before a cut that has already been made
};

// One CPU's row of /proc/stat, cumulative since boot, nanoseconds.
struct CpuTimes {
    CpuId cpu{};
    std::uint64_t user = 0;  // nice included
    std::uint64_t system = 0;
    std::uint64_t idle = 0;
    std::uint64_t iowait = 0;
    std::uint64_t irq = 0;
    std::uint64_t softirq = 0;
    std::uint64_t steal = 0;

    friend bool operator==(const CpuTimes&, const CpuTimes&) = default;
};

// A boundary between slices. Before it, every instance's READ record (counters, enabled time, lost) has been
// delivered with its own reading time: a CPU's slice ends where its counters were read, not at `time`.
struct Cut {
    MonotonicTime time{};
    WallTime wall{};
    std::vector<CpuTimes> cpu_times;    // read right after the counters; empty where unknown
    std::vector<KernelModule> modules;  // live: found loaded since the previous cut
    Waits waits{};                      // of whole CPUs; since the previous cut
    std::uint64_t lost_side_band = 0;   // side-band records lost since the previous cut: maps may be wrong
    bool clock_stepped = false;         // wall time jumped or the machine was suspended since the previous cut
    bool last = false;                  // the recording ends here
};

class RecordSink {
public:
    virtual ~RecordSink() = default;
    virtual void on_record(const OrderedRecord& record) = 0;
    virtual void on_cut(const Cut& cut) = 0;
};

class RecordSource {
public:
    virtual ~RecordSource() = default;
    [[nodiscard]] virtual const EventTable& events() const = 0;
    // Delivers to `sink` what is due by now. Never blocks. Errors end the recording.
    [[nodiscard]] virtual Result<void> pump(RecordSink& sink) = 0;
    // When pump() should be called next; nullopt: the source has ended.
    [[nodiscard]] virtual std::optional<MonotonicTime> next_pump() const = 0;
    // Makes the last cut (Cut::last) and delivers everything that is left.
    [[nodiscard]] virtual Result<void> finish(RecordSink& sink) = 0;
};

}  // namespace perfvigil::collector
