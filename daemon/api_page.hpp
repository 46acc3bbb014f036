// SPDX-License-Identifier: GPL-2.0-or-later
// The routes of the page: its files, the one-time address that opens it, and who is let in by it.
#pragma once

#include <optional>

#include "daemon/api.hpp"
#include "daemon/api_parts.hpp"

namespace perfvigil::daemon::api {

// Whether the browser that asks opened the page before (WebSessions).
[[nodiscard]] bool has_session(std::string_view cookies, WebSessions& sessions);

// A file of the page; nullopt: no file is called that. `etag`: what the caller has already (If-None-Match).
[[nodiscard]] std::optional<Response> page_file(std::string_view path, std::string_view etag, Page& page);

// What a stranger sees in its place: how to be let in.
[[nodiscard]] Response locked_page();

// /open?key=KEY
[[nodiscard]] Response open_page(const Request& request, std::string_view query, WebSessions& sessions);

// POST /v1/web: an address that opens the page once.
[[nodiscard]] Response invite(const Request& request, const Parameters& parameters, const Rules& rules, Source& source);

}  // namespace perfvigil::daemon::api
