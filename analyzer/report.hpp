// SPDX-License-Identifier: GPL-2.0-or-later
// A Profile told to a person (text) or a program (JSON, docs/report-json.md). Pure functions. Foreign names are
// escaped in text; in JSON they are strings whose bytes that are not UTF-8 became \xNN.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct ReportOptions {
    std::size_t top = 25;     // rows per table; 0: all
    std::size_t width = 120;  // columns of text; 0: lines are not cut
    // Text: whether idle samples have rows and count in the shares. JSON always holds them, marked.
    IdleRows idle = IdleRows::kExclude;
};

[[nodiscard]] std::string report_text(const Profile& profile, const ReportOptions& options);
[[nodiscard]] std::string report_json(const Profile& profile, const ReportOptions& options);

}  // namespace perfvigil::analyzer
