// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/analysis_desk.hpp"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <utility>

#include "daemon/api_parts.hpp"
#include "daemon/log.hpp"

namespace perfvigil::daemon {
namespace {

// As the analyst: somebody waits, and the host is looked at because it is busy.
constexpr int kNice = 5;

api::Response worked_out(const AnalysisDesk::Work& work, const std::stop_token& stop) {
    try {
        return work(stop);
    } catch (const std::exception& failure) {
        // A bug of ours, or memory that ran out: it costs this answer.
        log::error("an analysis ended by an exception", {{"what", failure.what()}});
        return api::refuse_inner(500, std::string("the analysis broke: ") + failure.what());
    }
}

}  // namespace

std::shared_ptr<api::Later> AnalysisDesk::ask(Work work) {
    const std::lock_guard lock(mutex_);
    if (closed_ || jobs_.size() >= kMostWaiting) return nullptr;
    auto answer = std::make_shared<api::Later>();
    jobs_.push_back({std::move(work), answer});
    if (!thread_.joinable()) {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    filled_.notify_one();
    return answer;
}

void AnalysisDesk::close() {
    std::deque<Job> refused;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        refused.swap(jobs_);
        thread_.request_stop();
    }
    for (const auto& job : refused) job.answer->set(api::refuse_inner(503, "the daemon ends"));
}

void AnalysisDesk::run(const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "analyses");
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
    while (true) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            if (!filled_.wait(lock, stop, [this] { return !jobs_.empty(); })) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job.answer->set(worked_out(job.work, stop));
        job = {};
        // What profiles took is not kept for the next question, which may come in a week.
        ::malloc_trim(0);
    }
}

}  // namespace perfvigil::daemon
