// SPDX-License-Identifier: GPL-2.0-or-later
// A recording of this host that is analyzed as it goes on: the session, the profile that grows out of it, and a capture
// file where one is kept. `perfvigil record` and the daemon's captures on demand run the same one.
//
//   RecordingSession ─▶ StreamAnalysis ─▶ Profile
//                  └──▶ CaptureWriter ─▶ CaptureFile      (without the samples of other control groups)
//
// open ▸ start ▸ keep ▸ pump … pump ▸ finish ▸ build. Thread: one owner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/exclusion.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/sample_selection.hpp"
#include "analyzer/symbols/host_symbolizer.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/capture_file.hpp"
#include "collector/event_kernel.hpp"
#include "collector/processes.hpp"
#include "collector/recording_session.hpp"

namespace perfvigil::analyzer {

class RecordingRun {
public:
    // What gives names; outlives the run.
    struct Names {
        HostSymbolizer& symbolizer;
        SymbolChild& child;
        collector::DsoListener& listener;
    };
    struct Options {
        collector::RecordingOptions recording{};
        SampleSelection selection{};
        std::string command_line{};
        // Copies of stacks are unwound as they come. It takes longer than writing them down; whoever reads the file
        // unwinds them too.
        bool unwinds = true;
        Hidden hidden{};  // not where the records are kept: a file would tell
    };

    [[nodiscard]] static Result<std::unique_ptr<RecordingRun>> open(Options options, const Clock& clock,
                                                                    collector::EventKernel& kernel, Names names);
    ~RecordingRun();

    // Enables the events and reads what already runs.
    [[nodiscard]] Result<void> start();
    // From now on the records are kept as well; right after start().
    [[nodiscard]] Result<void> keep(std::unique_ptr<collector::CaptureFile> file, int compression);

    // What is due by now, up to whole blocks in the file.
    [[nodiscard]] Result<void> pump();
    [[nodiscard]] std::optional<MonotonicTime> next_pump() const { return session_->next_pump(); }
    // The last cut; the file is whole afterwards.
    [[nodiscard]] Result<void> finish();
    // After finish().
    [[nodiscard]] Profile build(std::string id);

    [[nodiscard]] const collector::SessionCounters& counters() const { return session_->counters(); }
    [[nodiscard]] const std::vector<collector::Degraded>& degraded() const { return session_->degraded(); }
    [[nodiscard]] const std::vector<CpuId>& cpus() const { return session_->cpus(); }
    [[nodiscard]] std::uint64_t bytes_written() const;  // of the file; 0 without one

private:
    struct Parts;
    RecordingRun(std::unique_ptr<collector::RecordingSession> session, std::unique_ptr<Parts> parts);

    std::unique_ptr<collector::RecordingSession> session_;
    std::unique_ptr<Parts> parts_;
};

}  // namespace perfvigil::analyzer
