// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_desk.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/text.hpp"
#include "base/time_text.hpp"
#include "collector/cgroup_snapshot.hpp"
#include "collector/host_facts.hpp"
#include "collector/thread_list.hpp"
#include "daemon/cpu_selection.hpp"
#include "daemon/log.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
namespace field = protocol::field;

// What a caller may leave untaken.
constexpr std::size_t kMostUntaken = 64U << 20;
constexpr std::size_t kMostPast = 256;
constexpr std::size_t kMostNotes = 8;  // of one window
constexpr std::size_t kMostCgroups = 65536;

std::string who(const std::optional<Peer>& peer) {
    return peer ? fmt::format("uid {}, pid {}", peer->uid, peer->pid) : std::string("unknown");
}

Result<void> find_cgroup(const analyzer::CgroupSelection& wanted) {
    const auto mount = collector::find_cgroup_mount(read_file("/proc/self/mountinfo").value_or(""));
    if (!mount)
        return fail(ErrorCode::kUnsupported,
                    "no hierarchy of control groups is mounted that the kernel's "
                    "samples name");
    bool found = false;
    collector::read_cgroups(*mount, kMostCgroups,
                            [&](CgroupId, std::string_view path) { found = found || wanted.takes(path); });
    if (found) return {};
    return fail(ErrorCode::kNotFound, wanted.unit.empty() ? "there is no control group " + escape(wanted.path)
                                                          : "no unit " + escape(wanted.unit) + " runs here");
}

Result<UniqueFd> open_process(Pid pid) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid.value, 0)));
    if (fd) return fd;
    if (errno == ESRCH) return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", pid.value));
    if (errno == EINVAL) {
        return fail(ErrorCode::kNotFound, fmt::format("{} is a thread, not a process", pid.value));
    }
    return fail_errno(errno, fmt::format("process {}", pid.value));
}

unsigned status_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kInvalid: return 400;
        case ErrorCode::kUnsupported: return 501;
        default: return 500;
    }
}

std::unexpected<api::Refusal> refusal(unsigned status, std::string why) {
    return std::unexpected(api::Refusal{status, std::move(why)});
}

}  // namespace

CaptureDesk::CaptureDesk(Parts parts)
    : parts_(std::move(parts)),
      queue_({.concurrent = parts_.options.on_demand.concurrent,
              .waiting = parts_.options.on_demand.waiting,
              .budget = parts_.options.budget.captures}),
      places_(parts_.options.on_demand.concurrent) {}

void CaptureDesk::close() {
    stop();
    hurry();
    for (auto& place : places_) {
        if (place.thread.joinable()) place.thread.join();
    }
}

// What is there of what was asked for; CPUs that were not named are those of the continuous recording.
std::expected<CaptureScope, api::Refusal> CaptureDesk::scope_of(CaptureRequest& request,
                                                                std::vector<UniqueFd>& targets) {
    const auto host = read_host_cpus();
    if (!host) return refusal(status_of(host.error()), host.error().message);
    for (const auto pid : request.pids) {
        auto process = open_process(pid);
        if (!process) return refusal(status_of(process.error()), process.error().message);
        targets.push_back(std::move(*process));
    }
    if (request.cgroup) {
        if (const auto found = find_cgroup(*request.cgroup); !found) {
            return refusal(status_of(found.error()), found.error().message);
        }
    }
    CaptureScope scope{.host_cpus = host->online.size(),
                       .recorded_cpus = host->online.size(),
                       .has_pmu = parts_.has_pmu(),
                       .duration = request.duration};
    if (!request.cpus.empty()) {
        const auto online = [&](CpuId cpu) { return std::ranges::find(host->online, cpu) != host->online.end(); };
        if (!std::ranges::all_of(request.cpus, online)) return refusal(404, "not all of these CPUs are online");
        scope.recorded_cpus = request.cpus.size();
    } else if (request.pids.empty()) {
        auto selected = select_cpus(parts_.options.cpus, *host);
        if (!selected) return refusal(status_of(selected.error()), selected.error().message);
        scope.recorded_cpus = selected->size();
        if (selected->size() != host->online.size()) request.cpus = std::move(*selected);
    }
    if (request.pids.empty()) return scope;
    const auto threads = collector::list_threads("/proc", collector::Processes{request.pids});
    if (!threads) return refusal(status_of(threads.error()), threads.error().message);
    scope.threads = threads->size();
    return scope;
}

std::uint64_t CaptureDesk::rings_left() const {
    const auto taken = parts_.other_ring_bytes() + parts_.use.ring_bytes.load();
    const auto total = parts_.options.recording.rings_total_bytes;
    return total > taken ? total - taken : 0;
}

std::expected<std::shared_ptr<BodyStream>, api::Refusal> CaptureDesk::begin(CaptureRequest request,
                                                                            const std::optional<Peer>& peer) {
    const auto format = request.format;
    auto stream = std::make_shared<CaptureStream>(
        kMostUntaken, [this, id = last_id_ + 1](CaptureStream::Caller caller) { on_caller(id, caller); });
    auto refused = take(std::move(request), who(peer), CaptureTrigger::kRequest, reply_to_caller(stream, format));
    if (refused) return std::unexpected(std::move(*refused));
    return stream;
}

std::optional<api::Refusal> CaptureDesk::begin_for_rule(CaptureRequest request, const std::string& rule,
                                                        std::unique_ptr<CaptureReply> reply) {
    return take(std::move(request), "rule " + rule, CaptureTrigger::kRule, std::move(reply));
}

// The continuous recording keeps its rings; captures that run at a time share the rest.
CaptureCost CaptureDesk::plan(CaptureRun::Order& order, const CaptureRequest& request,
                              const CaptureScope& scope) const {
    const auto share = rings_left() / (places_.size() - std::min(queue_.running().size(), places_.size() - 1));
    order.recording = recording_of(request, share, scope.recorded_cpus);
    return predict_cost(order.recording, scope, parts_.sample_cost.value);
}

std::optional<api::Refusal> CaptureDesk::take(CaptureRequest request, std::string who, CaptureTrigger trigger,
                                              std::unique_ptr<CaptureReply> reply) {
    const auto asked = parts_.clock.monotonic();
    const auto refuse = [&](unsigned status, std::string why) {
        parts_.use.count(trigger, CaptureResult::kRefused);
        return api::Refusal{status, std::move(why)};
    };
    if (stopping_) return refuse(503, "the daemon stops");
    if (request.raw && parts_.options.hides()) {
        return refuse(403,
                      "raw records would tell what exclude and redact hide here (perfvigil.yaml); without them (no -o, "
                      "no raw=true) the capture's report and profile can be had");
    }
    CaptureRun::Order order{.asked = asked, .compression = static_cast<int>(parts_.options.captures.compression)};
    const auto scope = scope_of(request, order.targets);
    if (!scope) return refuse(scope.error().status, scope.error().why);
    auto cost = plan(order, request, *scope);
    if (trigger == CaptureTrigger::kRule && cost.all() > queue_.budget()) {
        request.frequency = std::max(1U, static_cast<std::uint32_t>(request.frequency * queue_.budget() / cost.all()));
        cost = plan(order, request, *scope);
    }
    order.host_cpus = scope->host_cpus;
    order.message = fmt::format("{}: {}", target_text(request), cost_text(cost, scope->host_cpus));
    if (request.cgroup)
        order.message += "; every task is sampled and the others' samples are left out: it costs what -a does";
    order.id = ++last_id_;
    const auto id = order.id;
    const auto answer = queue_.add({.id = id, .cost = cost.all(), .forced = request.force});
    if (answer == CaptureQueue::Answer::kTooDear) {
        return refuse(409, fmt::format("{}, which is over budget.captures, {:.2f} %; a lower frequency, fewer CPUs or "
                                       "events, or a process make it cheaper, and --force (force=true) insists",
                                       order.message, 100 * queue_.budget()));
    }
    if (answer == CaptureQueue::Answer::kFull) {
        return refuse(429, fmt::format("{} captures run and {} wait already; come again later", queue_.running().size(),
                                       queue_.waiting().size()));
    }
    order.request = std::move(request);
    order.hidden = parts_.hidden;
    captures_[id] = {.run = std::make_shared<CaptureRun>(std::move(order), std::move(reply)),
                     .who = std::move(who),
                     .trigger = trigger,
                     .cost = cost};
    if (answer == CaptureQueue::Answer::kRuns)
        start(id);
    else
        tell_positions();
    return std::nullopt;
}

void CaptureDesk::start(Id id) {
    auto& capture = captures_.at(id);
    const auto free = std::ranges::find(places_, Id{0}, &Place::id);
    auto& place = *free;  // the queue lets no more run than there are places
    if (place.thread.joinable()) place.thread.join();
    place.id = id;
    if (!place.kernel) place.kernel = collector::make_live_kernel(parts_.host);
    capture.since = parts_.clock.wall();
    const auto text = command_text(capture.run->order().request);
    log::info("capture begins", {{"id", id}, {"what", text}, {"who", capture.who}, {"cost", capture.cost.all()}});
    {
        const std::lock_guard lock(past_mutex_);
        if (past_.size() >= kMostPast) past_.erase(past_.begin());
        past_.push_back({.id = id, .from = capture.since, .text = fmt::format("{} ({})", text, capture.who)});
    }
    // A reload changes the options; the thread has what holds now.
    analyzer::DebuginfodOptions debuginfod{.urls = parts_.options.symbols.debuginfod,
                                           .cache = parts_.options.symbols.debuginfod_directory};
    place.thread = std::jthread([this, id, run = capture.run, kernel = place.kernel.get(), debuginfod] {
        ::pthread_setname_np(::pthread_self(), "capture");
        const auto result = run->run({.clock = parts_.clock,
                                      .kernel = *kernel,
                                      .debuginfod = debuginfod,
                                      .sample_cost = parts_.sample_cost,
                                      .use = parts_.use});
        parts_.post([this, id, result] { on_end(id, result); });
    });
}

void CaptureDesk::on_end(Id id, CaptureResult result) {
    const auto capture = captures_.find(id);
    if (capture == captures_.end()) return;
    parts_.use.count(capture->second.trigger, result);
    log::info("capture ended", {{"id", id}, {"result", kCaptureResultNames[static_cast<std::size_t>(result)]}});
    {
        const std::lock_guard lock(past_mutex_);
        const auto past = std::ranges::find(past_, id, &Past::id);
        if (past != past_.end()) past->to = parts_.clock.wall();
    }
    for (auto& place : places_) {
        if (place.id == id) place.id = 0;
    }
    queue_.ended(id);
    captures_.erase(capture);
    start_waiting();
}

void CaptureDesk::start_waiting() {
    if (stopping_) return;
    while (const auto next = queue_.next()) start(*next);
    tell_positions();
}

void CaptureDesk::tell_positions() {
    for (const auto& entry : queue_.waiting()) {
        captures_.at(entry.id).run->reply().event(protocol::event::kWaiting,
                                                  {{field::kPosition, queue_.position(entry.id)}});
    }
}

void CaptureDesk::on_caller(Id id, CaptureStream::Caller caller) {
    const auto found = captures_.find(id);
    if (found == captures_.end()) return;
    const auto why =
        caller == CaptureStream::Caller::kGone ? CaptureResult::kDisconnected : CaptureResult::kInterrupted;
    auto& run = *found->second.run;
    run.end(why);
    if (why == CaptureResult::kDisconnected) run.hurry();
    if (queue_.position(id) != 0) end_waiting(id, why, "ended while it waited; nothing was recorded");
}

// It has not begun, so there is no thread that would say so.
void CaptureDesk::end_waiting(Id id, CaptureResult result, std::string_view why) {
    auto& reply = captures_.at(id).run->reply();
    reply.failure(std::string(why));
    reply.event(protocol::event::kEnd,
                {{field::kResult, kCaptureResultNames[static_cast<std::size_t>(result)]}, {field::kMessage, why}});
    reply.end();
    on_end(id, result);
}

void CaptureDesk::stop() {
    if (std::exchange(stopping_, true)) return;
    std::vector<Id> waiting;
    for (const auto& entry : queue_.waiting()) waiting.push_back(entry.id);
    for (const auto id : waiting) {
        end_waiting(id, CaptureResult::kStopped, "the daemon stops; nothing was recorded");
    }
    for (auto& [id, capture] : captures_) capture.run->end(CaptureResult::kStopped);
}

void CaptureDesk::hurry() {
    for (auto& [id, capture] : captures_) capture.run->hurry();
}

std::string CaptureDesk::list_json() const {
    json::array list;
    for (const auto& [id, capture] : captures_) {
        const auto position = queue_.position(id);
        const auto& request = capture.run->order().request;
        json::object row{{field::kId, id},
                         {field::kState, position == 0 ? "running" : "waiting"},
                         {field::kTarget, target_text(request)},
                         {field::kFrequency, request.frequency},
                         {field::kDurationSeconds, to_seconds(request.duration)},
                         {field::kLabel, request.label},
                         {field::kCostPercent, 100 * capture.cost.in_the_end()}};
        if (position == 0)
            row[field::kStart] = iso_time(capture.since);
        else
            row[field::kPosition] = position;
        list.push_back(std::move(row));
    }
    return json::serialize(json::object{{field::kCaptures, std::move(list)}});
}

std::vector<std::string> CaptureDesk::notes(WallTime from, WallTime to) const {
    const std::lock_guard lock(past_mutex_);
    std::vector<std::string> notes;
    std::size_t more = 0;
    for (const auto& past : past_) {
        if (past.from >= to || (past.to && *past.to <= from)) continue;
        if (notes.size() >= kMostNotes) {
            ++more;
            continue;
        }
        notes.push_back(fmt::format("A capture on demand ran beside, from {} {}: {}.", readable_time(past.from),
                                    past.to ? "to " + readable_time(*past.to) : "on", past.text));
    }
    if (more > 0) notes.push_back(fmt::format("{} more captures on demand ran beside.", more));
    return notes;
}

}  // namespace perfvigil::daemon
