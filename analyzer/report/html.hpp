// SPDX-License-Identifier: GPL-2.0-or-later
// The sections of an HTML report, as markup.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/profile.hpp"
#include "analyzer/report.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] std::string cpus_html(const Profile& profile);
[[nodiscard]] std::string event_html(const Profile& profile, const ReportOptions& options, std::uint32_t event);

}  // namespace perfvigil::analyzer
