// SPDX-License-Identifier: GPL-2.0-or-later
// A comparison told to a person (text), to a program (JSON, docs/diff-json.md), and judged by a rule for CI. Pure
// functions; foreign names are escaped.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/diff.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct DiffReportOptions {
    std::size_t top = 25;     // rows per event; 0: all
    std::size_t width = 120;  // columns of text; 0: lines are not cut
};

[[nodiscard]] std::string diff_text(std::span<const Diff> diffs, const DiffReportOptions& options);
[[nodiscard]] std::string diff_json(std::span<const Diff> diffs, const DiffReportOptions& options);

[[nodiscard]] std::string_view diff_by_name(DiffBy by);  // "function", "total", "dso" …

// "regression>2%": a share that grew by more than two percentage points. "regression": that grew at all.
struct DiffRule {
    double points = 0;  // of 1
};
[[nodiscard]] Result<DiffRule> parse_diff_rule(std::string_view text);
// One sentence per row that breaks the rule: significant, in the direction and by more than it allows.
[[nodiscard]] std::vector<std::string> broken_by(const DiffRule& rule, std::span<const Diff> diffs);

}  // namespace perfvigil::analyzer
