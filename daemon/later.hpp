// SPDX-License-Identifier: GPL-2.0-or-later
// An answer that another thread is still working on. The session on the io thread sleeps until it is there.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "daemon/api.hpp"

namespace perfvigil::daemon::api {

class Later {
public:
    // Any thread, once.
    void set(Response response) {
        const std::lock_guard lock(mutex_);
        response_ = std::move(response);
        if (wake_) wake_();
    }
    // The io thread; nullopt: not yet.
    [[nodiscard]] std::optional<Response> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(response_, std::nullopt);
    }
    // Called from any thread when there is something to take; replaces the one before.
    void on_news(std::function<void()> wake) {
        const std::lock_guard lock(mutex_);
        wake_ = std::move(wake);
    }

private:
    std::mutex mutex_;
    std::optional<Response> response_;
    std::function<void()> wake_;
};

}  // namespace perfvigil::daemon::api
