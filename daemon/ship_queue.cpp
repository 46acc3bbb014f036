// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/ship_queue.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::daemon {

void ShipQueue::set_most(std::size_t most) {
    most_ = most;
    while (waiting_.size() > most_) pop(counters_.dropped);
}

void ShipQueue::push(std::string id) {
    waiting_.push_back(std::move(id));
    while (waiting_.size() > most_) pop(counters_.dropped);
}

void ShipQueue::pop(std::uint64_t& counter) {
    ++counter;
    waiting_.pop_front();
}

// Whoever takes one takes the next at once.
void ShipQueue::sent() {
    pop(counters_.sent);
    pause_ = {};
    due_ = {};
}

void ShipQueue::refused() {
    pop(counters_.refused);
    pause_ = {};
    due_ = {};
}

void ShipQueue::gone() { pop(counters_.dropped); }

// Up to a quarter less than twice the last pause, so that a fleet does not come back at one moment.
void ShipQueue::failed(MonotonicTime now) {
    ++counters_.retries;
    pause_ = pause_ == Nanoseconds{} ? kFirstPause : std::min(2 * pause_, kLongestPause);
    std::uniform_int_distribution<Nanoseconds::rep> less(0, (pause_ / 4).count());
    due_ = now + pause_ - Nanoseconds(less(random_));
}

ShipCounters ShipQueue::counters() const {
    auto counters = counters_;
    counters.waiting = waiting_.size();
    return counters;
}

}  // namespace perfvigil::daemon
