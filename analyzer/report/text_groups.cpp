// SPDX-License-Identifier: GPL-2.0-or-later
// The table of --by: a line for each value of the first key, below it those of the second.
#include <fmt/core.h>

#include "analyzer/report/text.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using enum TextTable::Align;

std::string name_of(const GroupRow& row, GroupKey key) {
    if (row.name.empty()) return "(none)";
    return escape(key == GroupKey::kDso && row.depth > 0 ? base_name(row.name) : std::string_view(row.name));
}

}  // namespace

void write_groups(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t event,
                  EventSum shown) {
    if (const auto missing = keys_not_kept(profile, options.by); !missing.empty()) {
        page.sentence(fmt::format("samples were not told apart by {}: only a file of samples can be, not a window of "
                                  "the daemon or a printed profile",
                                  group_key_name(missing.front())),
                      2);
        return;
    }
    const auto rows = nested(group_by(profile, event, options.by, options.idle));
    std::string title;
    for (const auto key : options.by) title += (title.empty() ? "" : " / ") + std::string(group_key_name(key));
    TextTable table;
    table.column("%", kRight).column("samples", kRight).column(title, kLeft);
    const auto small = [&](std::uint64_t weight) {
        return options.percent_limit &&
               static_cast<double>(weight) * 100 < *options.percent_limit * static_cast<double>(shown.weight);
    };
    struct Level {
        std::size_t shown = 0;
        std::size_t hidden = 0;
        std::uint64_t samples = 0;  // of the hidden
        std::uint64_t weight = 0;
    };
    std::vector<Level> levels(options.by.size());
    const auto close = [&](std::size_t from) {  // what the levels from here on left out comes before what follows
        for (std::size_t depth = levels.size(); depth-- > from;) {
            auto& level = levels[depth];
            if (level.hidden != 0) {
                table.row({percent(level.weight, shown.weight), std::to_string(level.samples),
                           fmt::format("{}… {} more", std::string(2 * depth, ' '), level.hidden)});
            }
            level = {};
        }
    };
    std::size_t hidden_below = levels.size();  // rows deeper than this belong to a hidden one
    for (const auto& row : rows) {
        if (row.depth > hidden_below) continue;
        hidden_below = levels.size();
        if (std::size_t{row.depth} + 1 < levels.size()) close(row.depth + 1);
        auto& level = levels[row.depth];
        const auto most = row.depth == 0 || options.top == 0 ? options.top : std::max<std::size_t>(options.top / 3, 3);
        if (small(row.weight) || (most != 0 && level.shown == most)) {
            ++level.hidden;
            level.samples += row.samples;
            level.weight += row.weight;
            hidden_below = row.depth;
            continue;
        }
        ++level.shown;
        table.row({percent(row.weight, shown.weight), std::to_string(row.samples),
                   std::string(2 * std::size_t{row.depth}, ' ') + name_of(row, options.by[row.depth])});
    }
    close(0);
    page.table(table);
}

}  // namespace perfvigil::analyzer
