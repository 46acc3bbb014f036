// SPDX-License-Identifier: GPL-2.0-or-later
// From drained bytes to the sink: orders records of all rings by time, decides which generation of events a record may
// come from, marks what is late, counts. Knows no rings and no clock.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "collector/event_set.hpp"
#include "collector/event_table.hpp"
#include "collector/recording_session.hpp"
#include "collector/stream.hpp"
#include "collector/time_order.hpp"

namespace perfvigil::collector {

class RecordDelivery {
public:
    RecordDelivery(const EventTable& events, SessionCounters& counters) : events_(events), counters_(counters) {}

    // Layouts of the records in each kind of ring; the same in every generation.
    void set_layouts(const RecordLayout& samples, const RecordLayout& side_band);

    // Copies one record out of a ring of `generation`. Without a readable time it is counted as malformed.
    void push(Bytes record, RingKind kind, std::uint32_t generation);

    // The same of a record whose time is known (and may not be in it).
    void push_at(MonotonicTime time, Bytes record, RingKind kind, std::uint32_t generation);

    // Delivers every record before `limit`, in order.
    void deliver_before(MonotonicTime limit, RecordSink& sink);
    // Delivers a record out of order, now (the counters read at a cut, whose time lies behind it).
    void deliver_now(Bytes record, RingKind kind, RecordSink& sink);

    // A cut was made: what comes with an earlier time is late.
    void cut_made(MonotonicTime time) { last_cut_ = time; }
    // From `time` on records of `generation` count, those of older ones no more; the overlap is discarded.
    void switch_to(std::uint32_t generation, MonotonicTime time);

    [[nodiscard]] std::size_t pending() const { return order_.pending(); }

private:
    [[nodiscard]] bool accepts(std::uint32_t generation, MonotonicTime time) const;
    [[nodiscard]] const RecordLayout& layout(RingKind kind) const {
        return kind == RingKind::kSamples ? samples_ : side_band_;
    }
    void deliver(MonotonicTime time, Bytes bytes, RingKind kind, bool late, RecordSink& sink);

    const EventTable& events_;
    SessionCounters& counters_;
    TimeOrder order_;
    RecordLayout samples_;
    RecordLayout side_band_;
    MonotonicTime last_cut_ = MonotonicTime::min();
    std::uint32_t generation_ = 0;
    MonotonicTime generation_start_ = MonotonicTime::min();
};

}  // namespace perfvigil::collector
