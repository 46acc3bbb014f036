// SPDX-License-Identifier: GPL-2.0-or-later
// Which profiles tell about a stretch of time, each moment once: roll-ups stand in the catalog beside the windows that
// they hold. Pure.
#pragma once

#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

// Ids of everything that some roll-up of the catalog holds. Views into the catalog's windows.
[[nodiscard]] boost::unordered_flat_set<std::string_view> held_ids(const Catalog& catalog);

// The fewest profiles that hold everything recorded from `since` to `until`, oldest first. Where an edge falls inside a
// roll-up, its parts are chosen among, as long as they are kept; else what lies inside by half or more of its length
// counts as inside. So the answer may begin and end a little off: their own times say where.
[[nodiscard]] Catalog cover(const Catalog& catalog, WallTime since, WallTime until);

// The newest window; the newest roll-up where there is no window any more; null.
[[nodiscard]] std::shared_ptr<const Window> latest_window(const Catalog& catalog);

}  // namespace perfvigil::daemon
