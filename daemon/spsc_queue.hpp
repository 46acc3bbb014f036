// SPDX-License-Identifier: GPL-2.0-or-later
// A bounded queue from one thread to one other, without locks. What does not fit is the producer's to keep or to count
// as dropped. An eventfd tells the consumer, so that it can wait for several things at once with poll(2).
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.hpp"

namespace perfvigil::daemon {

// A flag that one thread raises and another waits for.
class WakeEvent {
public:
    WakeEvent() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

    [[nodiscard]] int fd() const { return fd_.get(); }
    void raise() const {
        const std::uint64_t one = 1;
        // Fails only when the counter is full, and then it is raised already.
        [[maybe_unused]] const auto n = ::write(fd_.get(), &one, sizeof one);
    }
    void lower() const {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto n = ::read(fd_.get(), &count, sizeof count);
    }
    // Until raised or `timeout_ms` passed (-1: no limit); lowers it.
    void wait(int timeout_ms) const {
        pollfd waiting{fd_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, timeout_ms) > 0) lower();
    }

private:
    UniqueFd fd_;
};

template <class T>
class SpscQueue {
public:
    explicit SpscQueue(std::size_t capacity) : slots_(capacity + 1) {}

    // Producer. False: full, `value` is untouched.
    [[nodiscard]] bool try_push(T&& value) {
        const auto tail = tail_.load(std::memory_order_relaxed);
        const auto next = advance(tail);
        if (next == head_.load(std::memory_order_acquire)) return false;
        slots_[tail] = std::move(value);
        tail_.store(next, std::memory_order_release);
        filled_.raise();
        return true;
    }

    // Consumer.
    [[nodiscard]] std::optional<T> try_pop() {
        const auto head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) return std::nullopt;
        std::optional<T> value(std::move(slots_[head]));
        slots_[head] = T{};
        head_.store(advance(head), std::memory_order_release);
        return value;
    }

    // Raised by every push; the consumer lowers it before it empties the queue.
    [[nodiscard]] const WakeEvent& filled() const { return filled_; }

private:
    [[nodiscard]] std::size_t advance(std::size_t i) const { return i + 1 == slots_.size() ? 0 : i + 1; }

    std::vector<T> slots_;  // one stays empty: head == tail means nothing is in it
    alignas(64) std::atomic<std::size_t> head_{0};
    alignas(64) std::atomic<std::size_t> tail_{0};
    WakeEvent filled_;
};

}  // namespace perfvigil::daemon
