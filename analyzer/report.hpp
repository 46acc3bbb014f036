// SPDX-License-Identifier: GPL-2.0-or-later
// A Profile told to a person (text) or a program (JSON). Pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct ReportOptions {
    std::size_t top = 25;  // rows per table
    std::size_t width = 120;  // columns; 0: do not cut lines
    bool include_idle = false;
};

[[nodiscard]] std::string report_text(const Profile& profile, const ReportOptions& options);
// schema: docs/report-json.md. Sorted keys within objects are not promised, names and units are.
[[nodiscard]] std::string report_json(const Profile& profile, const ReportOptions& options);

}  // namespace perfvigil::analyzer
