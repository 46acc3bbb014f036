// SPDX-License-Identifier: GPL-2.0-or-later
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "analyzer/diff/report.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {

Result<DiffRule> parse_diff_rule(std::string_view text) {
    constexpr std::string_view kWord = "regression";
    const auto refuse = [&] {
        return fail(ErrorCode::kInvalid,
                    fmt::format("\"{}\" is no rule: write regression, or regression>2% for a share that grew by more "
                                "than 2 percentage points",
                                escape(text)));
    };
    auto rest = trim(text);
    if (!rest.starts_with(kWord)) return refuse();
    rest = trim(rest.substr(kWord.size()));
    if (rest.empty()) return DiffRule{};
    if (!rest.starts_with('>') || !rest.ends_with('%')) return refuse();
    rest = trim(rest.substr(1, rest.size() - 2));
    double points = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), points);
    if (error != std::errc{} || end != rest.data() + rest.size()) return refuse();
    if (!std::isfinite(points) || points < 0 || points >= 100) return refuse();
    return DiffRule{.points = points / 100};
}

std::vector<std::string> broken_by(const DiffRule& rule, std::span<const Diff> diffs) {
    std::vector<std::string> sentences;
    for (const auto& diff : diffs) {
        for (const auto& row : diff.rows) {
            if (!row.significant || !(row.share.change() > rule.points)) continue;
            sentences.push_back(fmt::format(
                "{}{}{} grew by {:.2f} points of {} ({:.2f} % to {:.2f} %, 95 % interval {:+.2f} to {:+.2f})",
                row.name.empty() ? "(none)" : escape(row.name), row.dso.empty() ? "" : " in ", escape(row.dso),
                100 * row.share.change(), escape(diff.event), 100 * row.share.before, 100 * row.share.after,
                100 * row.share.interval.low, 100 * row.share.interval.high));
        }
    }
    return sentences;
}

}  // namespace perfvigil::analyzer
