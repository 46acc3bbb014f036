// SPDX-License-Identifier: GPL-2.0-or-later
// A Profile told to a person (text, HTML) or a program (JSON, docs/report-json.md). Pure functions. Foreign names are
// escaped in text; in JSON they are strings whose bytes that are not UTF-8 became \xNN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/grouping.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct ReportOptions {
    std::size_t top = 25;     // rows per table; 0: all
    std::size_t width = 120;  // columns of text; 0: lines are not cut
    // Text: whether idle samples have rows and count in the shares. JSON always holds them, marked; its call chains
    // obey.
    IdleRows idle = IdleRows::kExclude;

    // Text: the column of what a function's callees add to it.
    enum class Total : std::uint8_t { kShow, kHide } total = Total::kShow;
    enum class Chains : std::uint8_t {
        kWhereRooted,  // text leaves them out where most end somewhere in between; JSON holds them, and says so
        kShow,
        kHide,
    } chains = Chains::kWhereRooted;
    // Percent of the event under which rows are left out, and of its function under which a call path is. Without a
    // value tables have every row that `top` allows, and paths start at kLeastPathPercent.
    std::optional<double> percent_limit{};
    std::vector<GroupKey> by{};  // not empty: tables by these keys, nested, in place of the usual ones
    std::string focus{};         // not empty: only callers and callees of the functions that this pattern matches
};
inline constexpr double kLeastPathPercent = 1.0;

[[nodiscard]] std::string report_text(const Profile& profile, const ReportOptions& options);
[[nodiscard]] std::string report_json(const Profile& profile, const ReportOptions& options);
[[nodiscard]] std::string report_html(const Profile& profile, const ReportOptions& options);

}  // namespace perfvigil::analyzer
