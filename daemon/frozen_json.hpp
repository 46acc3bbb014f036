// SPDX-License-Identifier: GPL-2.0-or-later
// A freeze as JSON: in its folder, and as /v1/frozen tells it.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "base/error.hpp"
#include "daemon/frozen_captures.hpp"

namespace perfvigil::daemon {

[[nodiscard]] boost::json::object frozen_json(const Frozen& frozen);
// Without files: those are what lies in the folder.
[[nodiscard]] Result<Frozen> parse_frozen(std::string_view text);

}  // namespace perfvigil::daemon
