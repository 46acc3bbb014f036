// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/tickless.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

bool is_by_timer(const EventSpec& event) { return event.type == kTypeSoftware; }

}  // namespace

std::string tickless_cpus(const std::string& root) {
    constexpr std::size_t kLongestList = 65536;
    const auto text = read_file(root + "/sys/devices/system/cpu/nohz_full", kLongestList);
    std::string list(text ? trim(*text) : std::string_view());
    // What an empty list is printed as by some kernels.
    return list == "(null)" ? std::string() : list;
}

std::vector<EventSpec> events_that_keep_ticks_off(std::vector<EventSpec> events, std::string_view tickless) {
    if (tickless.empty() || std::ranges::none_of(events, is_by_timer)) return events;
    std::erase_if(events, [](const EventSpec& event) { return !is_by_timer(event); });
    return events;
}

Degraded ticks_kept_off(const std::vector<EventSpec>& asked, std::string_view tickless) {
    std::string names;
    for (const EventSpec& event : asked) {
        if (!is_by_timer(event)) names += (names.empty() ? "" : ", ") + event.name;
    }
    return {"nohz_full",
            fmt::format("CPUs {} are tickless (nohz_full): sampled by frequency, {} would turn the tick of all CPUs on "
                        "again, so only timers are recorded; what needs hardware events is not available",
                        tickless, names),
            "Nothing needs to be done; perfvigil record -e cycles,cpu-clock records them all the same, for as long as "
            "it runs."};
}

}  // namespace perfvigil::collector
