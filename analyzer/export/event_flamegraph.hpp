// SPDX-License-Identifier: GPL-2.0-or-later
// Flame graphs of a profile's events, threads outermost, coloured by what kind of binary the code is in: one event as
// a picture, all of them as a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/export/flamegraph.hpp"

namespace perfvigil::analyzer {

struct EventFlamegraphOptions {
    IdleRows idle = IdleRows::kExclude;
    FlamegraphGrowth growth = FlamegraphGrowth::kUp;
    double width = 1200;
    double narrowest = 0.1;
};

// The <svg> element.
[[nodiscard]] std::string event_flamegraph(const Profile& profile, std::uint32_t event,
                                           const EventFlamegraphOptions& options);
// A file of its own.
[[nodiscard]] std::string event_flamegraph_file(const Profile& profile, std::uint32_t event,
                                                const EventFlamegraphOptions& options);
// A self-contained page: where the profile comes from, its warnings, and the graph of each of `events`.
[[nodiscard]] std::string flamegraph_page(const Profile& profile, const std::vector<std::uint32_t>& events,
                                          const EventFlamegraphOptions& options);

}  // namespace perfvigil::analyzer
