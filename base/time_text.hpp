// SPDX-License-Identifier: GPL-2.0-or-later
// Wall time as text, always UTC.
#pragma once

#include <string>

#include "base/time.hpp"

namespace perfvigil {

[[nodiscard]] std::string iso_time(WallTime time);       // "2026-01-31T12:05:00.250Z"
[[nodiscard]] std::string readable_time(WallTime time);  // "2026-01-31 12:05:00"
[[nodiscard]] std::string compact_time(WallTime time);   // "20260131T120500Z": window ids, file names

}  // namespace perfvigil
