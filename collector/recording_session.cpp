// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/recording_session.hpp"

#include <algorithm>

#include "collector/recording_loop.hpp"

namespace perfvigil::collector {
namespace {

constexpr Nanoseconds kShortestSlice = std::chrono::milliseconds(100);

Result<void> check(const RecordingOptions& options) {
    if (options.events.empty()) return fail(ErrorCode::kInvalid, "no event to record was named");
    if (options.tuning.frequency == 0) return fail(ErrorCode::kInvalid, "a frequency of 0 records nothing");
    if (options.slice < kShortestSlice) return fail(ErrorCode::kInvalid, "slices are at least 100 ms long");
    if (options.drain_interval <= Nanoseconds(0))
        return fail(ErrorCode::kInvalid, "the drain interval is not positive");
    return {};
}

// Every CPU that is asked for and online; the others are recorded once they come.
Result<std::vector<CpuId>> choose_cpus(EventKernel& kernel, const RecordingOptions& options,
                                       std::vector<Degraded>& degraded) {
    auto cpus = kernel.online_cpus();
    if (!cpus) return cpus;
    set_degraded(degraded, kCpuOffline, offline_cpus(options.cpus, *cpus));
    std::erase_if(*cpus, [&](CpuId cpu) { return !options.wants(cpu); });
    std::ranges::sort(*cpus);
    if (cpus->empty()) return fail(ErrorCode::kUnsupported, "none of the CPUs to record is online");
    return cpus;
}

}  // namespace

struct RecordingSession::State {
    EventTable table;
    std::vector<Degraded> degraded;
    SessionCounters counters;
    mutable HostFacts host;
    EventKernel* kernel = nullptr;
    const Clock* clock = nullptr;
    std::unique_ptr<RecordingLoop> loop;  // last: closes first
};

RecordingSession::RecordingSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordingSession::~RecordingSession() = default;

Result<std::unique_ptr<RecordingSession>> RecordingSession::open(RecordingOptions options, const Clock& clock) {
    return open(std::move(options), clock, live_kernel());
}

Result<std::unique_ptr<RecordingSession>> RecordingSession::open(RecordingOptions options, const Clock& clock,
                                                                 EventKernel& kernel) {
    if (auto valid = check(options); !valid) return fail(std::move(valid.error()));
    auto state = std::make_unique<State>();
    state->kernel = &kernel;
    state->clock = &clock;
    auto cpus = choose_cpus(kernel, options, state->degraded);
    if (!cpus) return fail(std::move(cpus.error()));
    auto threads = list_threads(kernel.proc_root(), options.target);
    if (!threads) return fail(std::move(threads.error()));

    options.tuning = limit_tuning(kernel, options, options.tuning, cpus->size(), state->degraded);
    auto negotiated = negotiate(kernel, options, cpus->front(), std::move(*threads));
    if (!negotiated) return fail(std::move(negotiated.error()));
    for (Degraded& entry : negotiated->degraded) note_degraded(state->degraded, std::move(entry));

    const std::vector<EventIndex> indices = add_events(state->table, negotiated->plan, options);
    auto set = open_event_set(
        {kernel, state->table, options, std::move(negotiated->plan), indices, *cpus, 0, RingFallback::kSmaller},
        state->degraded);
    if (!set) return fail(std::move(set.error()));

    state->host = kernel.host_facts(clock);
    state->host.scope =
        std::holds_alternative<AllCpus>(options.target) ? HostFacts::Scope::kWholeCpus : HostFacts::Scope::kTasks;
    state->loop = std::make_unique<RecordingLoop>(RecordingLoop::Parts{kernel, clock, std::move(options), state->table,
                                                                       indices, state->degraded, state->counters},
                                                  std::move(*set));
    return std::unique_ptr<RecordingSession>(new RecordingSession(std::move(state)));
}

Result<void> RecordingSession::start() {
    // The first slice's share of /proc/stat is counted from here.
    state_->host.cpu_times = {{state_->clock->monotonic(), state_->kernel->cpu_times()}};
    return state_->loop->start();
}

const EventTable& RecordingSession::events() const { return state_->table; }

Result<void> RecordingSession::pump(RecordSink& sink) {
    state_->loop->pump(sink);
    return {};
}

std::optional<MonotonicTime> RecordingSession::next_pump() const { return state_->loop->next_pump(); }

Result<void> RecordingSession::finish(RecordSink& sink) {
    state_->loop->finish(sink);
    return {};
}

void RecordingSession::retune(const Tuning& tuning) { state_->loop->retune(tuning); }
const Tuning& RecordingSession::tuning() const { return state_->loop->tuning(); }
const std::vector<Degraded>& RecordingSession::degraded() const { return state_->degraded; }
const std::vector<CpuId>& RecordingSession::cpus() const { return state_->loop->cpus(); }
const SessionCounters& RecordingSession::counters() const { return state_->counters; }

const HostFacts& RecordingSession::host() const {
    state_->host.degraded = state_->degraded;
    return state_->host;
}

}  // namespace perfvigil::collector
