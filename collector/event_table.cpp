// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/event_table.hpp"

#include <utility>

namespace perfvigil::collector {

Nanoseconds EventInfo::nominal_period_of(const EventAttr& attr) {
    if (!attr.is_clock()) return Nanoseconds{0};
    if (!attr.freq()) return Nanoseconds(static_cast<std::int64_t>(attr.sample_period_or_freq));
    // kernel/events/core.c, perf_swevent_init_hrtimer(): the frequency becomes a period once, at open.
    if (attr.sample_period_or_freq == 0) return Nanoseconds{0};
    return Nanoseconds(static_cast<std::int64_t>(1'000'000'000 / attr.sample_period_or_freq));
}

EventIndex EventTable::add_event(EventInfo info) {
    const EventIndex index{static_cast<std::uint32_t>(events_.size())};
    events_.push_back(std::move(info));
    return index;
}

void EventTable::add_instance(EventId id, EventInstance instance) { instances_.insert_or_assign(id, instance); }

void EventTable::remove_instance(EventId id) { instances_.erase(id); }

const EventInstance* EventTable::find(EventId id) const {
    const auto found = instances_.find(id);
    return found == instances_.end() ? nullptr : &found->second;
}

}  // namespace perfvigil::collector
