// SPDX-License-Identifier: GPL-2.0-or-later
// What a store has to do next, from its catalog alone: windows that are to be rolled up, and profiles whose time is
// over. Pure. The order of things keeps every moment held by exactly one profile that stands for it, whenever the
// daemon dies: a roll-up names its parts (analyzer/profile/parts.hpp) and is whole before one of them goes.
//
//   windows    |60 s|60 s| … kept 6 h
//   roll-ups   |  10 min    | … kept 7 d     made as soon as their time is over
//   archives   |     1 h            | … kept 90 d
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

struct RollupPlan {
    WindowKind kind = WindowKind::kRollup;
    WallTime end{};  // of its stretch: a multiple of its length
    Catalog parts;   // by start
};

// The oldest one that is due. A stretch is over once a window's length more has passed, for windows are stored a while
// after their end. `unusable`: ids of profiles that cannot be read.
[[nodiscard]] std::optional<RollupPlan> next_rollup(const Catalog& catalog, const config::StoreOptions& options,
                                                    Nanoseconds window, WallTime now,
                                                    const std::set<std::string>& unusable);

// Windows and roll-ups that longer profiles hold and that are older than their time, all parts of one together; and
// what is older than archives are kept. At most `most`, oldest first.
[[nodiscard]] Catalog over_age(const Catalog& catalog, const config::StoreOptions& options, WallTime now,
                               std::size_t most);

// What goes first when bytes run out: the oldest of what longer profiles hold, then the oldest. Null: nothing may go;
// the newest window stays.
[[nodiscard]] std::shared_ptr<const Window> first_to_go(const Catalog& catalog);

}  // namespace perfvigil::daemon
