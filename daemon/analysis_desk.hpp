// SPDX-License-Identifier: GPL-2.0-or-later
// Answers that take longer than a moment, one after the other on a thread of its own and at a low priority: the io
// thread goes on serving, and whoever asks much waits behind himself. The thread is started by the first question.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "daemon/later.hpp"

namespace perfvigil::daemon {

class AnalysisDesk {
public:
    static constexpr std::size_t kMostWaiting = 8;
    // Looks at the token between steps: the daemon ends when it is set.
    using Work = std::function<api::Response(const std::stop_token& stop)>;

    AnalysisDesk() = default;
    ~AnalysisDesk() { close(); }
    AnalysisDesk(const AnalysisDesk&) = delete;
    AnalysisDesk& operator=(const AnalysisDesk&) = delete;

    // nullptr: too many wait already, or the daemon ends.
    [[nodiscard]] std::shared_ptr<api::Later> ask(Work work);

    // Refuses what waits, and asks what is worked on to end; the destructor waits for that.
    void close();

private:
    struct Job {
        Work work;
        std::shared_ptr<api::Later> answer;
    };
    void run(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any filled_;
    std::deque<Job> jobs_;
    bool closed_ = false;
    std::jthread thread_;
};

}  // namespace perfvigil::daemon
