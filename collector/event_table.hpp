// SPDX-License-Identifier: GPL-2.0-or-later
// The events of one recording: what users call them, how their records are laid out, and which kernel ids belong to
// them. One logical event ("cpu-clock") may have several generations (rate changes) and one id per CPU in each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/event_attr.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {

using EventIndex = StrongId<struct EventIndexTag, std::uint32_t>;  // position in EventTable::events()

enum class EventRole : std::uint8_t { kSampling, kSideBand };

struct EventInfo {
    std::string name;  // as asked ("cycles", "cpu-clock"); side-band: "dummy:HG"
    EventRole role = EventRole::kSampling;
    EventAttr attr;  // of the first generation

    // Time per sample of a clock event, nanoseconds: 10101010 at 99 Hz (10^9/F, truncated as the kernel does).
    // Zero for events that do not count time.
    [[nodiscard]] Nanoseconds nominal_period() const { return nominal_period_of(attr); }
    [[nodiscard]] static Nanoseconds nominal_period_of(const EventAttr& attr);
};

// One opened instance: the event on one CPU in one generation. For foreign files cpu and generation may be unknown.
struct EventInstance {
    EventIndex event{};
    // The CPU whose whole time this instance counts. nullopt: unknown, or it follows a task (`-p`, a command), whose
    // enabled time says nothing about how busy a CPU was: no busy, no clock ledger from it.
    std::optional<CpuId> cpu;
    std::uint32_t generation = 0;
    Nanoseconds nominal_period{};  // of this generation; a clock sample weighs this, whatever its record says
    RecordLayout layout;
    // As this generation was opened, in the attr's unit (hertz with freq(), else events); 0: as in the event's attr.
    std::uint64_t period_or_freq = 0;
    std::uint16_t max_stack = 0;  // depth of its call chains in this generation; 0: as in the event's attr
};

class EventTable {
public:
    EventIndex add_event(EventInfo info);
    // Registers the kernel's id of an opened instance. Two instances with one id: the later wins.
    void add_instance(EventId id, EventInstance instance);
    void remove_instance(EventId id);

    [[nodiscard]] const std::vector<EventInfo>& events() const { return events_; }
    [[nodiscard]] const EventInfo& event(EventIndex index) const { return events_[index.value]; }
    [[nodiscard]] EventInfo& event(EventIndex index) { return events_[index.value]; }
    // nullptr: unknown id. Pointers are stable until the next add or remove.
    [[nodiscard]] const EventInstance* find(EventId id) const;
    [[nodiscard]] const boost::unordered_flat_map<EventId, EventInstance>& instances() const { return instances_; }

private:
    std::vector<EventInfo> events_;
    boost::unordered_flat_map<EventId, EventInstance> instances_;
};

}  // namespace perfvigil::collector
