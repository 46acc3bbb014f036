// SPDX-License-Identifier: GPL-2.0-or-later
// Writes perf.data files that stock perf 6.1 reads without a warning. A sink of the ordered stream: what it writes is
// in order of time. Each file stands alone: kernel and modules at its head, and the COMM and executable MMAP2 records
// of a process before that process's first samples in it.
// A file has a temporary name (".perf.data.partial") until it is whole, then is renamed; a killed recorder leaves a
// file that readers salvage to the last whole record.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collector/capture_baseline.hpp"
#include "collector/capture_file.hpp"
#include "collector/host_facts.hpp"
#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

struct CaptureOptions {
    int compression_level = 3;   // zstd, PERF_RECORD_COMPRESSED; 0: not compressed
    std::string command_line{};  // feature CMDLINE; empty: the host facts' own
    // For a file that begins within a recording: fed with the stream so far, read by create() only. Without it the
    // first slice of the file has no counters to start from.
    const CaptureBaseline* baseline = nullptr;
};

// On the LOST_SAMPLES records that the writer makes of the READ records' counts: our reader has them from there.
inline constexpr std::uint16_t kMiscLostFromReads = 1U << 14;

class CaptureWriter {
public:
    // `processes` is the table that the stream has been applied to, up to date when write() is called.
    [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(const std::string& path,
                                                                       const EventTable& events, const HostFacts& host,
                                                                       const ProcessTable& processes,
                                                                       CaptureOptions options);
    // The same into any CaptureFile (the daemon's writes on another thread). Every byte goes through it.
    [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(std::unique_ptr<CaptureFile> file,
                                                                       const EventTable& events, const HostFacts& host,
                                                                       const ProcessTable& processes,
                                                                       CaptureOptions options);
    ~CaptureWriter();  // an unfinished file keeps its temporary name

    // Appends one record (state on first use before it). Buffered; nothing reaches the disk before flush or finish.
    void write(const OrderedRecord& record);
    // A finished slice: round marker, /proc/stat for the facts.
    void cut(const Cut& cut);
    // Hands compressed blocks to the file. Not for the sampler's thread when the disk may block.
    [[nodiscard]] Result<void> flush();
    // LOST_SAMPLES, features, header; renames. The writer is done afterwards.
    [[nodiscard]] Result<void> finish();

    [[nodiscard]] std::uint64_t bytes_written() const;  // on disk and in buffers
    [[nodiscard]] std::uint64_t samples() const;
    [[nodiscard]] const std::string& path() const;  // final name

private:
    struct State;
    explicit CaptureWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::collector
