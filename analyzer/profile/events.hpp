// SPDX-License-Identifier: GPL-2.0-or-later
// The events of a profile while it grows: the sampling events of a recording's table in its order, numbered. One event
// that a recorder had to open once per core type of a CPU ("cpu_core/cycles/" and "cpu_atom/cycles/",
// "armv8_cortex_a53/cycles/" and "armv8_cortex_a72/cycles/") is one event here, "cycles", unless they are to stay
// apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"
#include "collector/event_table.hpp"

namespace perfvigil::analyzer {

class ProfileEvents {
public:
    static constexpr std::uint32_t kNone = 0xffffffff;

    // `events` outlives this and may grow.
    explicit ProfileEvents(const std::vector<collector::EventInfo>& events) : events_(&events) {}

    void split_hybrid() { split_hybrid_ = true; }
    // What split_hybrid() said of the other.
    void inherit(const ProfileEvents& other) { split_hybrid_ = other.split_hybrid_; }

    // The event's place in the profile; kNone: it takes no samples.
    [[nodiscard]] std::uint32_t number_of(collector::EventIndex event);
    // The (first) event of the table that has this place.
    [[nodiscard]] collector::EventIndex index_of(std::uint32_t number) const { return rows_[number].index; }
    [[nodiscard]] ProfileEvent& operator[](std::uint32_t number) { return rows_[number].event; }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    // What a slice counted of an event; samples that were left out make the whole where there is a filter.
    void add(std::uint32_t number, const EventTotals& more);
    void add_whole(std::uint32_t number, const EventTotals& more);

    // Every event of the table, those without a sample too.
    [[nodiscard]] std::vector<ProfileEvent> take();
    void clear();

private:
    struct Row {
        ProfileEvent event;
        collector::EventIndex index{};
        std::vector<std::string> core_pmus;  // whose events it is the sum of; empty: no hybrid event
    };
    void add(collector::EventIndex index);

    const std::vector<collector::EventInfo>* events_;
    std::vector<Row> rows_;
    std::vector<std::uint32_t> numbers_;  // by EventIndex
    bool split_hybrid_ = false;
};

// "cpu_core/cycles:ppp/": PMU "cpu_core", event "cycles:ppp". Both empty where the name is of no PMU that may be one
// core type's among several.
struct HybridName {
    std::string_view pmu{};
    std::string event{};
};
[[nodiscard]] HybridName hybrid_name(std::string_view name);

}  // namespace perfvigil::analyzer
