// SPDX-License-Identifier: GPL-2.0-or-later
// The text of `perf report --stdio` into a flat Profile: one function per row, its weight the percentage of the event's
// count (the self column where there are two). Call chains are passed over: they cannot be added up from what is
// printed.
#pragma once

#include "analyzer/input/text_lines.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] Result<Profile> read_perf_report(TextLines& lines);

// "12K" as 12000; `exact` says whether a unit hid the rest.
struct RoundedCount {
    std::uint64_t count = 0;
    bool exact = true;
};
[[nodiscard]] std::optional<RoundedCount> parse_rounded_count(std::string_view text);

}  // namespace perfvigil::analyzer
