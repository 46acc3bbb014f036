// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/opener_thread.hpp"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "daemon/spsc_queue.hpp"

namespace perfvigil::daemon {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr std::chrono::seconds kTidyEvery{5};
constexpr std::size_t kMaxAsked = 1024;

// Something else than an open that may hang like one.
struct Errand {
    std::function<void()> work;
    bool done = false;
};

struct Job {
    collector::DsoRef dso;
    Pid pid{};
    std::shared_ptr<Errand> errand{};  // instead of a Dso
};

constexpr collector::DsoId kErrand{0};  // no Dso has this number

}  // namespace

struct OpenerThread::State {
    State(OpenerThreadOptions opts, const Clock& the_clock)
        : options(std::move(opts)), clock(the_clock), mapped(options.queue), files(options.files, clock) {}

    const OpenerThreadOptions options;
    const Clock& clock;     // outlives every thread: the system's, or a test's that waits for them
    SpscQueue<Job> mapped;  // its consumer is whoever holds `mutex`
    std::atomic<std::uint64_t> queued{0};
    std::atomic<std::uint64_t> dropped{0};

    std::mutex mutex;
    std::condition_variable changed;     // an answer, or a thread's end
    std::deque<Job> asked;               // before `mapped`: the analyst waits for them
    std::set<collector::DsoId> pending;  // in `asked` or being opened for it
    analyzer::OpenedFiles files;
    std::thread worker;
    std::uint64_t generation = 0;             // of the worker; older ones end when they notice
    std::optional<collector::DsoId> opening;  // kErrand: an errand is being run
    SteadyTime opening_since{};
    bool stop = false;
    bool worker_ended = false;
    std::size_t stuck = 0;
    OpenerThreadCounters counts;

    [[nodiscard]] std::optional<Job> next_job() {
        if (!asked.empty()) {
            Job job = std::move(asked.front());
            asked.pop_front();
            return job;
        }
        return mapped.try_pop();
    }

    // Whether there is nothing to open: the file is open already, for this Dso or another of the same build-id.
    [[nodiscard]] bool answered(const collector::Dso& dso) {
        const auto* known = files.find(dso.id);
        if (known != nullptr && *known) return true;
        if (auto same = files.find(dso.build_id)) {
            files.put(dso.id, std::move(same));
            return true;
        }
        return false;
    }

    [[nodiscard]] bool hangs() const {
        return opening && std::chrono::steady_clock::now() - opening_since >= options.answer_limit;
    }

    void note(collector::DsoId id, Result<analyzer::OpenedFileRef> answer) {
        ++(answer ? counts.opened : counts.failed);
        files.put(id, std::move(answer));
        pending.erase(id);
        changed.notify_all();
    }
};

OpenerThread::OpenerThread(OpenerThreadOptions options, const Clock& clock) {
    if (!options.make_opener) {
        options.make_opener = [opener_options = options.opener, &clock]() -> OpenDso {
            auto opener = std::make_shared<analyzer::Opener>(opener_options, clock);
            return [opener](const collector::Dso& dso, Pid pid) {
                opener->expire();
                return opener->open_dso(dso, pid);
            };
        };
    }
    state_ = std::make_shared<State>(std::move(options), clock);
    const std::scoped_lock lock(state_->mutex);
    start_worker(0);
}

OpenerThread::~OpenerThread() {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->mapped.filled().raise();
    state_->changed.notify_all();
    const bool ended = state_->changed.wait_for(lock, state_->options.stop_limit, [&] { return state_->worker_ended; });
    auto worker = std::move(state_->worker);
    lock.unlock();
    if (ended)
        worker.join();
    else
        worker.detach();
}

// Under the mutex. Signals are for the thread that waits for them.
void OpenerThread::start_worker(std::uint64_t generation) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    state_->worker_ended = false;
    state_->worker = std::thread(&OpenerThread::work, state_, generation);
    ::pthread_setname_np(state_->worker.native_handle(), "opener");
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void OpenerThread::work(const std::shared_ptr<State>& state, std::uint64_t generation) {
    const OpenDso open = state->options.make_opener();
    auto tidy_at = std::chrono::steady_clock::now() + kTidyEvery;
    std::unique_lock lock(state->mutex);
    while (!state->stop) {
        const auto job = state->next_job();
        if (!job) {
            if (std::chrono::steady_clock::now() >= tidy_at) {
                state->files.expire();
                tidy_at = std::chrono::steady_clock::now() + kTidyEvery;
            }
            lock.unlock();
            state->mapped.filled().wait(static_cast<int>(std::chrono::milliseconds(kTidyEvery).count()));
            lock.lock();
            continue;
        }
        if (job->errand != nullptr) {
            state->opening = kErrand;
            state->opening_since = std::chrono::steady_clock::now();
            lock.unlock();
            job->errand->work();
            lock.lock();
            job->errand->done = true;
            state->changed.notify_all();
            if (state->generation != generation) {
                --state->stuck;
                return;
            }
            state->opening.reset();
            continue;
        }
        const auto id = job->dso->id;
        if (state->answered(*job->dso)) {
            state->pending.erase(id);
            state->changed.notify_all();
            continue;
        }
        state->opening = id;
        state->opening_since = std::chrono::steady_clock::now();
        lock.unlock();
        auto answer = open(*job->dso, job->pid);
        lock.lock();
        state->note(id, std::move(answer));  // late, perhaps, but true
        if (state->generation != generation) {
            --state->stuck;
            return;
        }
        state->opening.reset();
    }
    if (state->generation != generation) return;
    state->worker_ended = true;
    state->changed.notify_all();
}

void OpenerThread::on_dso_mapped(const collector::DsoRef& dso, Pid pid) {
    if (dso->kind != collector::DsoKind::kFile) return;
    auto& counter = state_->mapped.try_push({.dso = dso, .pid = pid}) ? state_->queued : state_->dropped;
    counter.fetch_add(1, std::memory_order_relaxed);
}

Result<analyzer::OpenedFileRef> OpenerThread::file_of(const collector::Dso& dso) {
    State& state = *state_;
    std::unique_lock lock(state.mutex);
    const auto* known = state.files.find(dso.id);
    if (known != nullptr) return *known;
    if (auto same = state.files.find(dso.build_id)) return same;

    const auto busy = [&] { return fail(ErrorCode::kBusy, dso.path + ": not opened yet"); };
    replace_if_stuck();
    if (!state.pending.contains(dso.id)) {
        if (state.asked.size() >= kMaxAsked) return busy();
        state.asked.push_back({.dso = std::make_shared<const collector::Dso>(dso), .pid = dso.first_pid});
        state.pending.insert(dso.id);
        state.mapped.filled().raise();
    }
    // One open that hangs must not cost the analyst its time for every file behind it.
    if (state.hangs()) return busy();
    (void)state.changed.wait_for(lock, state.options.answer_limit,
                                 [&] { return state.stop || !state.pending.contains(dso.id); });
    known = state.files.find(dso.id);
    if (known == nullptr) return busy();
    return *known;
}

Result<void> OpenerThread::run(std::function<void()> work) {
    State& state = *state_;
    const auto errand = std::make_shared<Errand>(Errand{.work = std::move(work)});
    std::unique_lock lock(state.mutex);
    const auto busy = [&] { return fail(ErrorCode::kBusy, "the opener has not done it yet"); };
    replace_if_stuck();
    if (state.asked.size() >= kMaxAsked || state.hangs()) return busy();
    state.asked.push_back({.dso = nullptr, .errand = errand});
    state.mapped.filled().raise();
    (void)state.changed.wait_for(lock, state.options.answer_limit, [&] { return state.stop || errand->done; });
    return errand->done ? Result<void>{} : busy();
}

void OpenerThread::release(const collector::Dso& dso) {
    const std::scoped_lock lock(state_->mutex);
    state_->files.forget(dso.id);
}

// Under the mutex.
void OpenerThread::replace_if_stuck() {
    State& state = *state_;
    if (!state.opening || state.stop || state.stuck >= state.options.max_stuck) return;
    if (std::chrono::steady_clock::now() - state.opening_since < state.options.stuck_after) return;
    if (*state.opening != kErrand) {
        state.files.put(*state.opening, fail(ErrorCode::kIo, "opening it hangs"));
        state.pending.erase(*state.opening);
    }
    state.opening.reset();
    ++state.stuck;
    ++state.counts.replaced;
    state.worker.detach();
    start_worker(++state.generation);
}

OpenerThreadCounters OpenerThread::counters() const {
    const std::scoped_lock lock(state_->mutex);
    OpenerThreadCounters counts = state_->counts;
    counts.queued = state_->queued.load(std::memory_order_relaxed);
    counts.dropped = state_->dropped.load(std::memory_order_relaxed);
    counts.evicted = state_->files.evicted();
    counts.open_files = state_->files.open_count();
    counts.stuck = state_->stuck;
    return counts;
}

}  // namespace perfvigil::daemon
