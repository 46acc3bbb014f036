// SPDX-License-Identifier: GPL-2.0-or-later
// Opens the files of Dsos on a thread of its own, the moment the sampler hears of them: a process of two milliseconds
// is gone soon. An open can hang (a dead mount): the thread that hangs in it is left behind and another takes its
// place.
//
//   sampler ── on_dso_mapped ─▶ bounded queue ─▶ worker ─▶ Opener ─▶ answers ◀─ file_of, release ── analyst
//
// The sampler never waits here. The analyst waits at most kAskLimit for one answer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/opened_files.hpp"
#include "analyzer/symbols/opener.hpp"
#include "collector/processes.hpp"
#include "daemon/spsc_queue.hpp"

namespace perfvigil::daemon {

class OpenerThread final : public analyzer::FileSource, public collector::DsoListener {
public:
    struct Limits {
        std::size_t queued = 8192;                     // mappings that wait; beyond it they are dropped and counted
        Nanoseconds ask = std::chrono::seconds(1);     // how long file_of waits
        Nanoseconds stuck = std::chrono::seconds(10);  // in one open, then the worker is replaced
        unsigned replacements = 8;                     // stuck workers at a time; with more nothing is opened
    };

    OpenerThread(analyzer::Origin origin, analyzer::OpenerOptions options, analyzer::OpenedFilesLimits files,
                 const Clock& clock);
    OpenerThread(analyzer::Origin origin, analyzer::OpenerOptions options, analyzer::OpenedFilesLimits files,
                 const Clock& clock, Limits limits);
    ~OpenerThread() override;

    // Sampler.
    void on_dso_mapped(const collector::DsoRef& dso, Pid pid) override;

    // Analyst.
    [[nodiscard]] Result<analyzer::OpenedFileRef> file_of(const collector::Dso& dso) override;
    void release(const collector::Dso& dso) override;

    [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t replaced() const;

private:
    struct Order {
        collector::DsoRef dso;
        Pid pid{};
    };
    // Outlives this object while a stuck worker still holds it.
    struct Shared;

    static void work(const std::shared_ptr<Shared>& shared, std::uint64_t generation);
    static std::optional<Order> next_order(Shared& shared, std::uint64_t generation);
    static void open(Shared& shared, analyzer::Opener& opener, const Order& order, std::uint64_t generation);
    void start_worker();
    void replace_if_stuck();

    const analyzer::Origin origin_;
    const Clock& clock_;
    const Limits limits_;
    std::atomic<std::uint64_t> dropped_{0};
    std::shared_ptr<Shared> shared_;
    std::thread worker_;
};

}  // namespace perfvigil::daemon
