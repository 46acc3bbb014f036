// SPDX-License-Identifier: GPL-2.0-or-later
// Times of day as people write them, in the time zone of the caller (TZ, else /etc/localtime).
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"

namespace perfvigil::cli {

struct WallSpan {
    WallTime since{};
    WallTime until{};

    friend bool operator==(const WallSpan&, const WallSpan&) = default;
};

//   2h  90s  1d                  so long before `now`
//   now
//   09:00  09:00:30              today, or yesterday where that is still to come
//   2026-11-29                   its first moment
//   2026-11-29 09:00[:30[.5]]    with a T or a blank; a Z behind it: UTC
// A time that a day does not have, because clocks are put forward then, is refused.
[[nodiscard]] Result<WallTime> parse_wall_time(std::string_view text, WallTime now);

// "09:00..09:10", each end as above.
[[nodiscard]] Result<WallSpan> parse_wall_span(std::string_view text, WallTime now);
// From `since` to `until`, which is now where it is empty.
[[nodiscard]] Result<WallSpan> wall_span(std::string_view since, std::string_view until, WallTime now);

[[nodiscard]] std::string local_time(WallTime time);  // "2026-11-29 09:00:00"
[[nodiscard]] std::string local_zone(WallTime time);  // "CET (UTC+01:00)"
[[nodiscard]] std::string local_span(
    const WallSpan& span);  // "2026-11-29 09:00:00 to 2026-11-29 09:10:00 CET (UTC+01:00)"

}  // namespace perfvigil::cli
