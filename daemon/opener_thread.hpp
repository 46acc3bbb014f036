// SPDX-License-Identifier: GPL-2.0-or-later
// The opener's thread: opens the files of Dsos while the processes that map them live, so that the sampler never waits
// for a file system and the analyst finds them open.
//
//   sampler ─ on_dso_mapped ─▶ [bounded queue] ─▶ opener thread ─▶ open files, by Dso ◀─ file_of ─ analyst
//
// on_dso_mapped() is the sampler's alone and never blocks: what does not fit is dropped and counted, and opened when
// the analyst asks for it. file_of() and release() are the analyst's alone; it waits a bounded time. An open that hangs
// (a dead mount) costs its thread: the thread is left to itself and another one takes over, a few times.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/opened_files.hpp"
#include "analyzer/symbols/opener.hpp"
#include "base/time.hpp"
#include "collector/processes.hpp"

namespace perfvigil::daemon {

// Opens one Dso's file; called on the opener's thread only. Tests put their own in Opener's place.
using OpenDso = std::function<Result<analyzer::OpenedFileRef>(const collector::Dso& dso, Pid pid)>;

struct OpenerThreadOptions {
    analyzer::OpenerOptions opener;
    analyzer::OpenedFilesLimits files = analyzer::opened_files_limits();
    std::size_t queue = 8192;
    std::chrono::milliseconds answer_limit{1000};  // how long file_of() waits
    std::chrono::milliseconds stuck_after{5000};   // an open that takes longer costs its thread
    unsigned max_stuck = 4;                        // threads given up at a time; then the opener stands still
    std::chrono::milliseconds stop_limit{2000};    // how long the destructor waits for an open in progress
    std::function<OpenDso()> make_opener;          // one per thread; empty: analyzer::Opener
};

struct OpenerThreadCounters {
    std::uint64_t queued = 0;
    std::uint64_t dropped = 0;  // the queue was full
    std::uint64_t opened = 0;
    std::uint64_t failed = 0;
    std::uint64_t evicted = 0;   // closed to keep the number of open files bounded
    std::uint64_t replaced = 0;  // threads given up for good or for a while
    std::size_t open_files = 0;  // now
    std::size_t stuck = 0;       // threads that hang now
};

class OpenerThread final : public collector::DsoListener, public analyzer::FileSource {
public:
    OpenerThread(OpenerThreadOptions options, const Clock& clock);
    ~OpenerThread() override;
    OpenerThread(const OpenerThread&) = delete;
    OpenerThread& operator=(const OpenerThread&) = delete;

    // The sampler's.
    void on_dso_mapped(const collector::DsoRef& dso, Pid pid) override;

    // The analyst's.
    [[nodiscard]] Result<analyzer::OpenedFileRef> file_of(const collector::Dso& dso) override;
    [[nodiscard]] Result<void> run(std::function<void()> work) override;
    void release(const collector::Dso& dso) override;

    // Anybody's.
    [[nodiscard]] OpenerThreadCounters counters() const;

private:
    struct State;
    static void work(const std::shared_ptr<State>& state, std::uint64_t generation);
    void start_worker(std::uint64_t generation);
    void replace_if_stuck();

    // Shared with its threads: one that hangs may outlive this.
    std::shared_ptr<State> state_;
};

}  // namespace perfvigil::daemon
