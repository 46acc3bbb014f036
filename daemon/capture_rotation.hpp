// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps the raw stream as a row of capture files: one at a time, cut at slice boundaries by size and age. A sink beside
// the slice builder, after it (the process table must be up to date). Thread: sampler.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collector/capture_writer.hpp"
#include "collector/stream.hpp"
#include "config/options.hpp"
#include "daemon/disk_writer.hpp"
#include "daemon/published.hpp"

namespace perfvigil::daemon {

class CaptureRotation final : public collector::RecordSink {
public:
    // Everything referred to outlives this.
    CaptureRotation(config::CaptureOptions options, DiskWriter& disk, const collector::EventTable& events,
                    const collector::HostFacts& host, const collector::ProcessTable& processes, const Clock& clock,
                    DiskWriter::Report report);

    void on_record(const collector::OrderedRecord& record) override;
    void on_cut(const collector::Cut& cut) override;
    // Makes the file at hand whole.
    void finish();

    void set_limits(std::uint64_t file_bytes, Nanoseconds file_age);

    // The file at hand ends at the next cut, and none is begun until resume().
    void pause() { paused_ = true; }
    void resume() { paused_ = false; }

    // Any thread: the file at hand ends at the next cut, and the next one begins there.
    void cut_soon() { cut_asked_.store(true); }

    // Any thread: the final name of the file being written; empty between files.
    [[nodiscard]] std::shared_ptr<const std::string> current() const { return current_.value(); }

private:
    void begin();
    void write(const collector::OrderedRecord& record);
    void give_up(const Error& error);

    config::CaptureOptions options_;
    DiskWriter& disk_;
    const collector::EventTable& events_;
    const collector::HostFacts& host_;
    const collector::ProcessTable& processes_;
    const Clock& clock_;
    DiskWriter::Report report_;
    collector::CaptureBaseline baseline_;  // what the next file opens with
    std::unique_ptr<collector::CaptureWriter> writer_;
    MonotonicTime begun_{};  // of the file's first slice
    MonotonicTime last_cut_{};
    MonotonicTime retry_at_{};  // after a failure; records before it are not kept
    std::string last_name_;
    unsigned same_name_ = 0;
    std::uint64_t flushed_ = 0;
    bool paused_ = false;
    std::atomic<bool> cut_asked_{false};
    Published<std::string> current_;
};

}  // namespace perfvigil::daemon
