// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of a JSON report; their fields are documented in docs/report-json.md.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/json.hpp>

#include "analyzer/profile.hpp"
#include "analyzer/report.hpp"

namespace perfvigil::analyzer {

// JSON wants UTF-8; names of processes and functions promise nothing. Names without a blemish stay as they are.
[[nodiscard]] boost::json::string json_text(std::string_view foreign);

[[nodiscard]] boost::json::object event_json(const Profile& profile, const ReportOptions& options, std::uint32_t event);
[[nodiscard]] boost::json::object call_chains_json(const Profile& profile, const ReportOptions& options,
                                                   std::uint32_t event);
[[nodiscard]] boost::json::object groups_json(const Profile& profile, const ReportOptions& options,
                                              std::uint32_t event);
// By event; null where an event has no sample with it on the stack.
[[nodiscard]] boost::json::array focus_json(const Profile& profile, const ReportOptions& options);

}  // namespace perfvigil::analyzer
