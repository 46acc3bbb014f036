// SPDX-License-Identifier: GPL-2.0-or-later
// Orders the records of a capture by time with the help of its round marks: perf's promise is that nothing after a
// mark is older than what had been seen at the mark before it (tools/perf/util/ordered-events.c). Without marks
// everything waits for the end.
#pragma once

#include <cstdint>
#include <utility>

#include "collector/time_order.hpp"

namespace perfvigil::collector {

class RoundOrder {
public:
    // `stable`: the bytes stay where they are until they are delivered; else they are copied.
    void push(MonotonicTime time, Bytes record, std::uint32_t tag, bool stable) {
        if (time < delivered_before_) ++out_of_order_;
        if (time > newest_) newest_ = time;
        if (stable)
            order_.push_view(time, record, tag);
        else
            order_.push_copy(time, record, tag);
    }

    template <class Deliver>
    void end_round(Deliver&& deliver) {
        flush_through(due_, deliver);
        due_ = newest_;
    }

    // Keeps the memory within bounds where marks are missing: what was the newest at half of it goes out.
    template <class Deliver>
    void bound(Deliver&& deliver) {
        const std::size_t held = order_.bytes_held();
        if (held < kMaxHeld / 2)
            half_ = MonotonicTime::min();
        else if (half_ == MonotonicTime::min())
            half_ = newest_;
        if (held < kMaxHeld) return;
        ++forced_;
        flush_through(half_, deliver);
        half_ = MonotonicTime::min();
    }

    template <class Deliver>
    void finish(Deliver&& deliver) {
        order_.flush_all(deliver);
    }

    [[nodiscard]] std::uint64_t out_of_order() const { return out_of_order_; }
    [[nodiscard]] std::uint64_t forced() const { return forced_; }

private:
    static constexpr std::size_t kMaxHeld = std::size_t{2} << 30;

    template <class Deliver>
    void flush_through(MonotonicTime last, Deliver& deliver) {
        if (last == MonotonicTime::min()) return;
        const MonotonicTime before = last + Nanoseconds(1);
        order_.flush_before(before, deliver);
        if (before > delivered_before_) delivered_before_ = before;
    }

    TimeOrder order_;
    MonotonicTime newest_ = MonotonicTime::min();
    MonotonicTime due_ = MonotonicTime::min();   // the newest at the last mark
    MonotonicTime half_ = MonotonicTime::min();  // the newest when half of the memory was in use
    MonotonicTime delivered_before_ = MonotonicTime::min();
    std::uint64_t out_of_order_ = 0;
    std::uint64_t forced_ = 0;
};

}  // namespace perfvigil::collector
