// SPDX-License-Identifier: GPL-2.0-or-later
// The routes whose answers are worked out from profiles or raw captures, on the AnalysisDesk's thread.
#pragma once

#include "daemon/api.hpp"
#include "daemon/api_parts.hpp"

namespace perfvigil::daemon::api {

// /v1/export: profiles as one, in another program's format.
[[nodiscard]] Response export_profile(const Request& request, const Parameters& parameters, Source& source);

// /v1/diff: two stretches compared, docs/diff-json.md.
[[nodiscard]] Response diff(const Request& request, const Parameters& parameters, Source& source);

// /v1/raw/profile and /v1/raw/heat: from the samples themselves, while captures keep them.
[[nodiscard]] Response raw(const Request& request, std::string_view what, const Parameters& parameters, Source& source);

}  // namespace perfvigil::daemon::api
