// SPDX-License-Identifier: GPL-2.0-or-later
// Which windows wait to be shipped, and when the next one is tried: in their order, a bounded number, more and more
// seldom where nobody takes them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include "base/time.hpp"

namespace perfvigil::daemon {

// Windows by what became of them; cumulative.
struct ShipCounters {
    std::uint64_t sent = 0;
    std::uint64_t refused = 0;  // by the collector, for good
    std::uint64_t dropped = 0;  // too many waited, or the store no longer has it
    std::uint64_t retries = 0;  // tries that failed and are made again
    std::uint64_t waiting = 0;  // now

    friend bool operator==(const ShipCounters&, const ShipCounters&) = default;
};

class ShipQueue {
public:
    static constexpr Nanoseconds kFirstPause = std::chrono::seconds(1);
    static constexpr Nanoseconds kLongestPause = std::chrono::minutes(5);

    ShipQueue(std::size_t most, std::uint32_t seed) : most_(most), random_(seed) {}

    void set_most(std::size_t most);
    void push(std::string id);
    // The one that is tried next; empty: none waits.
    [[nodiscard]] const std::string* front() const { return waiting_.empty() ? nullptr : &waiting_.front(); }
    // Before that it is not tried again.
    [[nodiscard]] MonotonicTime due() const { return due_; }

    void sent();
    void refused();
    void gone();
    void failed(MonotonicTime now);

    [[nodiscard]] ShipCounters counters() const;

private:
    void pop(std::uint64_t& counter);

    std::size_t most_;
    std::deque<std::string> waiting_;
    ShipCounters counters_;
    Nanoseconds pause_{};  // after the last failure
    MonotonicTime due_{};
    std::minstd_rand random_;
};

}  // namespace perfvigil::daemon
