// SPDX-License-Identifier: GPL-2.0-or-later
// The route of the store's list: what is kept, and which of it tells about a stretch of time.
#pragma once

#include "daemon/api.hpp"
#include "daemon/api_parts.hpp"

namespace perfvigil::daemon::api {

// /v1/windows
[[nodiscard]] Response windows(const Request& request, const Parameters& parameters, const Catalog& catalog);

}  // namespace perfvigil::daemon::api
