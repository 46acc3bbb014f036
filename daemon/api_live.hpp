// SPDX-License-Identifier: GPL-2.0-or-later
// The route of what happens now: the last slices, and the next one as soon as it is there.
#pragma once

#include "daemon/api.hpp"
#include "daemon/api_parts.hpp"

namespace perfvigil::daemon::api {

// A caller who waits is answered after this long, with or without a slice.
inline constexpr Nanoseconds kLongestLiveWait = std::chrono::seconds(15);

// /v1/live
[[nodiscard]] Response live(const Request& request, const Parameters& parameters, Source& source);

}  // namespace perfvigil::daemon::api
