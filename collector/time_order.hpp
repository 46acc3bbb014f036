// SPDX-License-Identifier: GPL-2.0-or-later
// Puts records of several rings into one order of time. Each ring is nearly sorted (an NMI may go back a little);
// rings among each other are not. Knows bytes and times, nothing of events.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/time.hpp"

namespace perfvigil::collector {

class TimeOrder {
public:
    struct Item {
        MonotonicTime time{};
        std::uint64_t sequence = 0;  // arrival; breaks ties
        const std::byte* data = nullptr;
        std::uint32_t size = 0;
        std::uint32_t tag = 0;  // the caller's: which ring or layout

        [[nodiscard]] Bytes bytes() const { return {data, size}; }
    };

    // The bytes stay where they are (a mapped file) and must outlive their delivery.
    void push_view(MonotonicTime time, Bytes record, std::uint32_t tag);
    // The bytes are copied (a ring that will be overwritten).
    void push_copy(MonotonicTime time, Bytes record, std::uint32_t tag);

    // Delivers every record with time < limit in order of (time, arrival). What remains is kept; memory of delivered
    // copies is reused, so a steady stream allocates nothing.
    template <class Deliver>
    void flush_before(MonotonicTime limit, Deliver&& deliver) {
        const std::size_t due = prepare(limit);
        for (std::size_t i = 0; i < due; ++i) deliver(std::as_const(items_[i]));
        release(due);
    }
    template <class Deliver>
    void flush_all(Deliver&& deliver) {
        flush_before(MonotonicTime::max(), std::forward<Deliver>(deliver));
    }

    [[nodiscard]] std::size_t pending() const { return items_.size(); }
    [[nodiscard]] std::size_t bytes_held() const;

private:
    // Sorts items_ and returns how many lie before `limit`.
    std::size_t prepare(MonotonicTime limit);
    void release(std::size_t due);

    std::vector<Item> items_;
    std::uint64_t next_sequence_ = 0;
    std::size_t sorted_ = 0;  // items_[0, sorted_) are in order
    std::vector<std::vector<std::byte>> blocks_;  // copies; see time_order.cpp
    std::vector<std::vector<std::byte>> spare_;
};

}  // namespace perfvigil::collector
