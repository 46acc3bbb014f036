// SPDX-License-Identifier: GPL-2.0-or-later
// An immutable value that one thread replaces and others look at. Readers keep what they got for as long as they like.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace perfvigil::daemon {

template <class T>
class Published {
public:
    explicit Published(T first = {}) : value_(std::make_shared<const T>(std::move(first))) {}

    void set(T value) {
        auto next = std::make_shared<const T>(std::move(value));
        const std::lock_guard lock(mutex_);
        value_.swap(next);  // the old value dies outside readers' hands, after the lock
    }
    [[nodiscard]] std::shared_ptr<const T> value() const {
        const std::lock_guard lock(mutex_);
        return value_;
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const T> value_;
};

}  // namespace perfvigil::daemon
