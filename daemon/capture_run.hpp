// SPDX-License-Identifier: GPL-2.0-or-later
// One capture on demand, from the opening of its events to its profile, on a thread of its own beside the continuous
// recording: own events, rings, names. Told to end by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/recording_run.hpp"
#include "analyzer/symbols/debuginfod.hpp"
#include "base/fd.hpp"
#include "collector/sample_cost.hpp"
#include "daemon/capture_reply.hpp"
#include "daemon/capture_request.hpp"
#include "daemon/capture_use.hpp"
#include "daemon/names.hpp"
#include "daemon/spsc_queue.hpp"

namespace perfvigil::daemon {

class CaptureRun {
public:
    struct Order {
        std::uint64_t id = 0;
        CaptureRequest request{};
        collector::RecordingOptions recording{};
        std::vector<UniqueFd> targets{};  // pidfds of request.pids
        std::string message{};            // what it is predicted to cost
        MonotonicTime asked{};
        std::size_t host_cpus = 1;
        int compression = 3;
        analyzer::Hidden hidden{};
    };
    struct Around {
        const Clock& clock;
        collector::EventKernel& kernel;  // of this thread
        const analyzer::DebuginfodOptions& debuginfod;
        collector::SampleCost sample_cost;
        CaptureUse& use;
    };

    CaptureRun(Order order, std::unique_ptr<CaptureReply> reply) : order_(std::move(order)), reply_(std::move(reply)) {}

    // The whole capture, on the calling thread.
    [[nodiscard]] CaptureResult run(const Around& around);

    // Any thread: it is to end for this reason; the first one counts.
    void end(CaptureResult why);
    // Any thread: names are waited for no longer.
    void hurry();

    [[nodiscard]] const Order& order() const { return order_; }
    [[nodiscard]] CaptureReply& reply() { return *reply_; }

private:
    [[nodiscard]] Result<void> begin(const Around& around);
    [[nodiscard]] Result<void> record(const Around& around);
    void tell_end(const Around& around, CaptureResult result, const std::string& why);
    [[nodiscard]] bool targets_ended();
    void account(const Around& around);
    [[nodiscard]] boost::json::object numbers(const Around& around) const;
    [[nodiscard]] std::string sentence(CaptureResult result, const std::string& why) const;

    Order order_;
    std::unique_ptr<CaptureReply> reply_;
    std::mutex names_mutex_;  // against hurry()
    std::unique_ptr<Names> names_;
    std::unique_ptr<analyzer::RecordingRun> run_;
    std::atomic<int> end_{kGoesOn};
    WakeEvent wake_;
    MonotonicTime started_{};
    Nanoseconds elapsed_{};
    Nanoseconds thread_time_{};  // accounted for so far
    Nanoseconds child_time_{};
    std::uint64_t samples_ = 0;
    std::uint64_t ring_bytes_ = 0;

    static constexpr int kGoesOn = -1;
};

}  // namespace perfvigil::daemon
