// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_run.hpp"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/text.hpp"
#include "daemon/degraded_json.hpp"
#include "daemon/overhead.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
namespace field = protocol::field;

constexpr Nanoseconds kProgressEvery = std::chrono::milliseconds(200);

Nanoseconds own_thread_time() {
    timespec time{};
    if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return {};
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

}  // namespace

void CaptureRun::end(CaptureResult why) {
    int goes_on = kGoesOn;
    end_.compare_exchange_strong(goes_on, static_cast<int>(why));
    wake_.raise();
}

void CaptureRun::hurry() {
    const std::lock_guard lock(names_mutex_);
    if (names_) names_->hurry();
}

// Whether every process that was named has ended.
bool CaptureRun::targets_ended() {
    if (order_.targets.empty()) return false;
    return std::ranges::all_of(order_.targets, [](const UniqueFd& process) {
        pollfd ended{process.get(), POLLIN, 0};
        return ::poll(&ended, 1, 0) > 0;
    });
}

CaptureResult CaptureRun::run(const Around& around) {
    auto done = begin(around);
    if (done) done = record(around);
    auto result = static_cast<CaptureResult>(end_.load());
    std::string why;
    if (!done) {
        why = done.error().message;
        // Bytes that are not taken are the caller's doing.
        const bool not_taken = done.error().code == ErrorCode::kCancelled && result != CaptureResult::kFailed;
        result = not_taken ? CaptureResult::kDisconnected : CaptureResult::kFailed;
        reply_->failure(why);
    } else if (result != CaptureResult::kDisconnected) {
        reply_->profile(run_->build(fmt::format("capture-{}", order_.id)));
    }
    account(around);
    around.use.ring_bytes.fetch_sub(std::exchange(ring_bytes_, 0));
    tell_end(around, result, why);
    run_.reset();
    const std::lock_guard lock(names_mutex_);
    names_.reset();
    return result;
}

Result<void> CaptureRun::begin(const Around& around) {
    {
        const std::lock_guard lock(names_mutex_);
        names_ = std::make_unique<Names>(RunSource{}, around.debuginfod, around.clock);
    }
    auto run =
        analyzer::RecordingRun::open({.recording = order_.recording,
                                      .selection = {.cgroup = order_.request.cgroup},
                                      .command_line = "perfvigil " + command_text(order_.request),
                                      .hidden = order_.hidden},
                                     around.clock, around.kernel, {names_->symbolizer, names_->child, names_->opener});
    if (!run) return fail(std::move(run.error()));
    run_ = std::move(*run);
    // A number is a process only as long as that lives: another may have it by now, and what was opened is its.
    if (targets_ended()) return fail(ErrorCode::kNotFound, "the process ended before its capture began");
    started_ = around.clock.monotonic();
    if (auto started = run_->start(); !started) return started;
    reply_->event(protocol::event::kStarted, {{field::kId, order_.id},
                                              {field::kMessage, order_.message},
                                              {field::kStartSeconds, to_seconds(started_ - order_.asked)},
                                              {field::kDegraded, degraded_json(run_->degraded())}});
    account(around);
    if (!order_.request.raw) return {};
    auto file = reply_->file();
    if (!file) return fail(std::move(file.error()));
    return run_->keep(std::move(*file), order_.compression);
}

Result<void> CaptureRun::record(const Around& around) {
    const auto until = started_ + order_.request.duration;
    MonotonicTime next_progress{};
    while (end_.load() == kGoesOn) {
        const auto due = run_->next_pump();
        if (!due) break;
        const auto left = std::min(*due, until) - around.clock.monotonic();
        // Rounded up: a wait that ends early would spin.
        if (left > Nanoseconds{}) {
            wake_.wait(static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
        }
        if (auto pumped = run_->pump(); !pumped) return pumped;
        account(around);
        const auto now = around.clock.monotonic();
        if (now >= until) end(CaptureResult::kComplete);
        if (targets_ended()) end(CaptureResult::kTargetExited);
        if (now < next_progress) continue;
        next_progress = now + kProgressEvery;
        reply_->event(protocol::event::kProgress, numbers(around));
    }
    elapsed_ = around.clock.monotonic() - started_;
    if (auto finished = run_->finish(); !finished) return finished;
    reply_->event(protocol::event::kRecorded, numbers(around));
    return {};
}

// What was used since the last call, to those who judge it.
void CaptureRun::account(const Around& around) {
    const auto thread = own_thread_time();
    around.use.thread_time.fetch_add((thread - std::exchange(thread_time_, thread)).count());
    if (names_ && names_->child.pid() != 0) {
        const auto child = std::max(cpu_time_of(names_->child.pid()), child_time_);
        around.use.child_time.fetch_add((child - std::exchange(child_time_, child)).count());
    }
    if (!run_) return;
    const auto& counters = run_->counters();
    const auto samples = counters.samples + counters.lost_sample_records;
    around.use.samples.fetch_add(samples - std::exchange(samples_, samples));
    around.use.ring_bytes.fetch_add(counters.ring_bytes - std::exchange(ring_bytes_, counters.ring_bytes));
}

json::object CaptureRun::numbers(const Around& around) const {
    const auto& counters = run_->counters();
    const auto elapsed = elapsed_ == Nanoseconds{} ? around.clock.monotonic() - started_ : elapsed_;
    return {{field::kElapsedSeconds, to_seconds(elapsed)},
            {field::kSamples, counters.samples},
            {field::kLost, counters.lost_sample_records},
            {field::kBytes, run_->bytes_written()}};
}

void CaptureRun::tell_end(const Around& around, CaptureResult result, const std::string& why) {
    const auto host_time = to_seconds(elapsed_) * static_cast<double>(order_.host_cpus);
    const auto spent = thread_time_ + child_time_ + around.sample_cost.value * static_cast<std::int64_t>(samples_);
    reply_->event(protocol::event::kEnd,
                  {{field::kResult, kCaptureResultNames[static_cast<std::size_t>(result)]},
                   {field::kMessage, sentence(result, why)},
                   {field::kCostPercent, host_time > 0 ? 100 * to_seconds(spent) / host_time : 0}});
    reply_->end();
}

std::string CaptureRun::sentence(CaptureResult result, const std::string& why) const {
    const auto after = fmt::format("after {:.1f} s", to_seconds(elapsed_));
    switch (result) {
        case CaptureResult::kComplete: return {};
        case CaptureResult::kInterrupted: return "ended " + after + ", as asked; what was recorded is kept";
        case CaptureResult::kTargetExited: return "the process ended " + after + "; what was recorded is kept";
        case CaptureResult::kStopped:
            return "the daemon stops; what was recorded until then is kept (" +
                   after.substr(std::string_view("after ").size()) + ")";
        default: return escape(why);
    }
}

}  // namespace perfvigil::daemon
