// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/opener_thread.hpp"

#include <pthread.h>

#include <utility>

namespace perfvigil::daemon {

struct OpenerThread::Shared {
    Shared(analyzer::OpenerOptions opener_options, analyzer::OpenedFilesLimits file_limits, const Clock& a_clock,
           std::size_t queued)
        : options(std::move(opener_options)), clock(a_clock), mapped(queued), files(file_limits, a_clock) {}

    const analyzer::OpenerOptions options;
    const Clock& clock;
    SpscQueue<Order> mapped;  // from the sampler; emptied under the mutex, by the worker of the current generation

    std::mutex mutex;
    std::condition_variable answered;
    analyzer::OpenedFiles files;
    std::deque<Order> asked;  // by the analyst, at most one at a time
    std::uint64_t generation = 0;
    std::uint64_t stuck = 0;  // workers left behind that have not come back
    std::uint64_t replaced = 0;
    MonotonicTime busy_since = MonotonicTime::max();  // max: the current worker is in no open
    bool stop = false;
};

OpenerThread::OpenerThread(analyzer::Origin origin, analyzer::OpenerOptions options, analyzer::OpenedFilesLimits files,
                           const Clock& clock)
    : OpenerThread(origin, std::move(options), files, clock, Limits{}) {}

OpenerThread::OpenerThread(analyzer::Origin origin, analyzer::OpenerOptions options, analyzer::OpenedFilesLimits files,
                           const Clock& clock, Limits limits)
    : origin_(origin),
      clock_(clock),
      limits_(limits),
      shared_(std::make_shared<Shared>(std::move(options), files, clock, limits.queued)) {
    start_worker();
}

OpenerThread::~OpenerThread() {
    bool hangs = false;
    {
        const std::scoped_lock lock(shared_->mutex);
        shared_->stop = true;
        hangs = clock_.monotonic() - shared_->busy_since > limits_.ask && shared_->busy_since != MonotonicTime::max();
    }
    shared_->mapped.filled().raise();
    // A hanging open must not hang the daemon's end.
    if (hangs)
        worker_.detach();
    else
        worker_.join();
}

void OpenerThread::start_worker() {
    worker_ = std::thread([shared = shared_, generation = shared_->generation] { work(shared, generation); });
    ::pthread_setname_np(worker_.native_handle(), "opener");
}

void OpenerThread::on_dso_mapped(const collector::DsoRef& dso, Pid pid) {
    if (origin_ == analyzer::Origin::kCapture || dso->kind != collector::DsoKind::kFile) return;
    if (!shared_->mapped.try_push({dso, pid})) dropped_.fetch_add(1, std::memory_order_relaxed);
}

Result<analyzer::OpenedFileRef> OpenerThread::file_of(const collector::Dso& dso) {
    replace_if_stuck();
    std::unique_lock lock(shared_->mutex);
    if (const auto* known = shared_->files.find(dso.id)) return *known;
    const auto pid = origin_ == analyzer::Origin::kLive ? dso.first_pid : Pid{};
    // The order holds a copy: the caller's Dso need not outlive a worker that hangs.
    shared_->asked.push_back({std::make_shared<const collector::Dso>(dso), pid});
    shared_->mapped.filled().raise();
    const auto limit = std::chrono::steady_clock::now() + limits_.ask;
    while (shared_->files.find(dso.id) == nullptr) {
        if (shared_->answered.wait_until(lock, limit) == std::cv_status::timeout) break;
    }
    if (const auto* known = shared_->files.find(dso.id)) return *known;
    shared_->asked.clear();
    return fail(ErrorCode::kBusy, dso.path + ": not opened yet");
}

void OpenerThread::release(const collector::Dso& dso) {
    const std::scoped_lock lock(shared_->mutex);
    shared_->files.forget(dso.id);
}

std::uint64_t OpenerThread::replaced() const {
    const std::scoped_lock lock(shared_->mutex);
    return shared_->replaced;
}

void OpenerThread::replace_if_stuck() {
    {
        const std::scoped_lock lock(shared_->mutex);
        if (shared_->busy_since == MonotonicTime::max()) return;
        if (clock_.monotonic() - shared_->busy_since < limits_.stuck || shared_->stuck >= limits_.replacements) return;
        ++shared_->generation;
        ++shared_->stuck;
        ++shared_->replaced;
        shared_->busy_since = MonotonicTime::max();
    }
    worker_.detach();
    start_worker();
}

std::optional<OpenerThread::Order> OpenerThread::next_order(Shared& shared, std::uint64_t generation) {
    const std::scoped_lock lock(shared.mutex);
    if (shared.generation != generation) return std::nullopt;
    std::optional<Order> order;
    if (!shared.asked.empty()) {
        order = std::move(shared.asked.front());
        shared.asked.pop_front();
    } else {
        order = shared.mapped.try_pop();
    }
    if (order) shared.busy_since = shared.clock.monotonic();
    return order;
}

void OpenerThread::open(Shared& shared, analyzer::Opener& opener, const Order& order, std::uint64_t generation) {
    analyzer::OpenedFileRef same;
    {
        const std::scoped_lock lock(shared.mutex);
        const auto* known = shared.files.find(order.dso->id);
        if (known != nullptr && *known) {
            shared.busy_since = MonotonicTime::max();
            return;
        }
        same = shared.files.find(order.dso->build_id);
    }
    auto answer = same ? Result<analyzer::OpenedFileRef>(std::move(same)) : opener.open_dso(*order.dso, order.pid);
    opener.expire();
    const std::scoped_lock lock(shared.mutex);
    if (shared.generation != generation) return;  // came back from a hang: another worker has its place
    shared.busy_since = MonotonicTime::max();
    shared.files.expire();
    shared.files.put(order.dso->id, std::move(answer));
    shared.answered.notify_all();
}

void OpenerThread::work(const std::shared_ptr<Shared>& shared, std::uint64_t generation) {
    analyzer::Opener opener(shared->options, shared->clock);
    const auto& filled = shared->mapped.filled();
    while (true) {
        while (auto order = next_order(*shared, generation)) open(*shared, opener, *order, generation);
        {
            const std::scoped_lock lock(shared->mutex);
            if (shared->generation != generation) {
                --shared->stuck;
                return;
            }
            if (shared->stop) return;
        }
        filled.wait(-1);
    }
}

}  // namespace perfvigil::daemon
