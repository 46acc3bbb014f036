// SPDX-License-Identifier: GPL-2.0-or-later
// Takes orders for captures on demand, lets them run or wait, and tells the rest of the daemon of them. Thread: io, but
// for notes(), which the analyst asks.
//
//   begin ─▶ [CaptureQueue] ─▶ place (thread + kernel) ─ CaptureRun ─▶ CaptureStream ─▶ caller
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config/options.hpp"
#include "daemon/api_captures.hpp"
#include "daemon/capture_cost.hpp"
#include "daemon/capture_queue.hpp"
#include "daemon/capture_run.hpp"

namespace perfvigil::daemon {

class CaptureDesk final : public api::Captures {
public:
    struct Parts {
        const config::Options& options;
        const Clock& clock;
        collector::SampleCost sample_cost;
        CaptureUse& use;
        const collector::HostFacts& host;
        analyzer::Hidden hidden;                          // as the continuous recording has it
        std::function<bool()> has_pmu;                    // as the continuous recording found it
        std::function<std::uint64_t()> other_ring_bytes;  // of the continuous recording, now
        std::function<void(std::function<void()>)> post;  // to the io thread, from any
    };
    explicit CaptureDesk(Parts parts);
    // Ends all that run and waits for their threads; nothing is posted afterwards. Before the destructor.
    void close();
    ~CaptureDesk() override = default;
    CaptureDesk(const CaptureDesk&) = delete;
    CaptureDesk& operator=(const CaptureDesk&) = delete;

    [[nodiscard]] std::expected<std::shared_ptr<BodyStream>, api::Refusal> begin(
        CaptureRequest request, const std::optional<Peer>& peer) override;
    // One that a rule asks for; the reply's end tells what came of it. Slower where the budget allows no more.
    [[nodiscard]] std::optional<api::Refusal> begin_for_rule(CaptureRequest request, const std::string& rule,
                                                             std::unique_ptr<CaptureReply> reply);
    [[nodiscard]] std::string list_json() const override;
    [[nodiscard]] Nanoseconds longest() const override { return parts_.options.on_demand.longest; }

    void set_budget(double budget) { queue_.set_budget(budget); }
    // Takes no more, and ends those that run: what they have recorded is kept.
    void stop();
    void hurry();
    [[nodiscard]] bool idle() const { return captures_.empty(); }

    // Any thread: a sentence for each capture that ran between the two times.
    [[nodiscard]] std::vector<std::string> notes(WallTime from, WallTime to) const;

private:
    using Id = CaptureQueue::Id;
    // Where a capture runs. The kernel stays: see make_live_kernel().
    struct Place {
        std::unique_ptr<collector::EventKernel> kernel;
        std::jthread thread;
        Id id = 0;  // 0: free
    };
    struct Capture {
        std::shared_ptr<CaptureRun> run;
        std::string who;
        CaptureTrigger trigger = CaptureTrigger::kRequest;
        CaptureCost cost;
        WallTime since{};
    };
    struct Past {
        Id id = 0;
        WallTime from{};
        std::optional<WallTime> to{};
        std::string text;
    };

    // Why it is not taken; else it runs or waits.
    [[nodiscard]] std::optional<api::Refusal> take(CaptureRequest request, std::string who, CaptureTrigger trigger,
                                                   std::unique_ptr<CaptureReply> reply);
    [[nodiscard]] std::expected<CaptureScope, api::Refusal> scope_of(CaptureRequest& request,
                                                                     std::vector<UniqueFd>& targets);
    [[nodiscard]] std::uint64_t rings_left() const;
    [[nodiscard]] CaptureCost plan(CaptureRun::Order& order, const CaptureRequest& request,
                                   const CaptureScope& scope) const;
    void start(Id id);
    void start_waiting();
    void end_waiting(Id id, CaptureResult result, std::string_view why);
    void on_caller(Id id, CaptureStream::Caller caller);
    void on_end(Id id, CaptureResult result);
    void tell_positions();

    Parts parts_;
    CaptureQueue queue_;
    std::map<Id, Capture> captures_;
    std::vector<Place> places_;
    Id last_id_ = 0;
    bool stopping_ = false;
    mutable std::mutex past_mutex_;
    std::vector<Past> past_;
};

}  // namespace perfvigil::daemon
