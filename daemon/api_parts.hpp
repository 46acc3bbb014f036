// SPDX-License-Identifier: GPL-2.0-or-later
// What the routes of the API share: parameters of the query, refusals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "daemon/api.hpp"

namespace perfvigil::daemon::api {

// "limit=5&unit=a%20b": names as sent, values decoded.
using Parameters = std::vector<std::pair<std::string_view, std::string>>;
[[nodiscard]] Result<Parameters> parameters_of(std::string_view query);

// A number from the query, or the sentence that refuses it.
[[nodiscard]] Result<std::size_t> number_parameter(std::string_view name, std::string_view value, std::size_t max);
[[nodiscard]] Error unknown_parameter(std::string_view name);

// The value of one cookie in "a=1; name=value"; empty: there is none.
[[nodiscard]] std::string_view cookie(std::string_view cookies, std::string_view name);

// For people.
[[nodiscard]] Response text(unsigned status, std::string_view body);
// Answers of /v1 are read by programs, the others by people.
[[nodiscard]] Response refuse_inner(unsigned status, const std::string& why);
[[nodiscard]] Response refuse(const Request& request, unsigned status, const std::string& why);

}  // namespace perfvigil::daemon::api
