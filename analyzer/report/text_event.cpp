// SPDX-License-Identifier: GPL-2.0-or-later
// What one event's samples say: functions, what has no name, DSOs, commands, units.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "analyzer/function_label.hpp"
#include "analyzer/report/text.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using enum TextTable::Align;

class EventTables {
public:
    EventTables(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t event,
                EventSum shown)
        : page_(page),
          profile_(profile),
          options_(options),
          event_(event),
          shown_(shown),
          totals_(function_totals(profile, event, options.idle)) {}

    [[nodiscard]] const std::vector<FunctionTotals>& totals() const { return totals_; }

    void functions() {
        auto rows = totals_;
        const bool totals = options_.total == ReportOptions::Total::kShow;
        if (!totals) std::erase_if(rows, [](const FunctionTotals& row) { return row.self_samples == 0; });
        const auto all = rows.size();
        std::erase_if(rows, [&](const FunctionTotals& row) {
            return is_small(totals ? std::max(row.total_weight, row.self_weight) : row.self_weight);
        });
        TextTable table;
        table.column("self %", kRight);
        if (totals) table.column("total %", kRight);
        table.column("samples", kRight).column("DSO", kLeft).column("function", kLeft);
        const auto top = top_of(rows, options_.top);
        for (const auto& row : top) {
            const auto& function = profile_.functions[row.function];
            std::vector<std::string> cells{percent(row.self_weight, shown_.weight)};
            if (totals) cells.push_back(percent(row.total_weight, shown_.weight));
            cells.push_back(std::to_string(row.self_samples));
            cells.push_back(shorten(escape(base_name(function.dso)), page_.narrow() ? kNarrowDsoWidth : kDsoWidth));
            cells.push_back(function_text(function));
            table.row(std::move(cells));
        }
        page_.table(table);
        const auto more = all - top.size();
        if (more != 0) page_.line(fmt::format("  … {} more function{}", more, more == 1 ? "" : "s"));
    }

    void unknown() {
        const auto rows = breakdown(profile_, event_, Dimension::kUnknown, options_.idle);
        if (rows.empty()) return;
        const auto sum = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0},
                                         [](std::uint64_t total, const Share& share) { return total + share.weight; });
        std::string text = fmt::format("Without a name: {} %", percent(sum, shown_.weight));
        char separator = ':';
        for (const auto& row : rows) {
            text += fmt::format("{} {} {} %", separator, row.key, percent(row.weight, shown_.weight));
            separator = ',';
        }
        page_.sentence(text, 2);
    }

    void shares(Dimension dimension, std::string_view title) {
        const auto rows = breakdown(profile_, event_, dimension, options_.idle);
        // One row of "none" says nothing.
        if (rows.empty() || (rows.size() == 1 && rows.front().key.empty())) return;
        TextTable table;
        table.column("%", kRight).column("samples", kRight).column(std::string(title), kLeft);
        for (const auto& row : top_of(rows, options_.top == 0 ? 0 : std::max<std::size_t>(options_.top / 2, 5))) {
            if (is_small(row.weight)) break;
            table.row({percent(row.weight, shown_.weight), std::to_string(row.samples),
                       row.key.empty() ? "(none)" : escape(row.key)});
        }
        if (table.empty()) return;
        page_.line("");
        page_.table(table);
    }

private:
    [[nodiscard]] bool is_small(std::uint64_t weight) const {
        return options_.percent_limit &&
               static_cast<double>(weight) * 100 < *options_.percent_limit * static_cast<double>(shown_.weight);
    }

    static constexpr std::size_t kDsoWidth = 28;
    static constexpr std::size_t kNarrowDsoWidth = 18;

    TextPage& page_;
    const Profile& profile_;
    const ReportOptions& options_;
    const std::uint32_t event_;
    const EventSum shown_;
    const std::vector<FunctionTotals> totals_;
};

}  // namespace

std::string event_summary(const ProfileEvent& event, const ReportOptions& options) {
    std::string text = fmt::format("{} samples", event.samples);
    const auto weight = static_cast<double>(event.weight);
    switch (event.unit) {
        case WeightUnit::kNanoseconds: text += fmt::format(" = {:.3f} s", weight / 1e9); break;
        case WeightUnit::kCycles: text += fmt::format(", {:.4g} cycles", weight); break;
        case WeightUnit::kEvents: text += fmt::format(", {} events", event.weight); break;
    }
    if (event.rate != 0) {
        text += event.frequency_mode ? fmt::format(" at {} Hz", event.rate) : fmt::format(", one in {}", event.rate);
    }
    text += fmt::format("; lost {}{}", event.lost, event.lost_is_shared ? " (of all events of its rings)" : "");
    if (event.idle_samples != 0) {
        text += fmt::format("; {} idle samples {}", event.idle_samples,
                            options.idle == IdleRows::kExclude ? "left out below" : "included below");
    }
    return text;
}

std::string shown_of_whole(const ProfileEvent& event) {
    return fmt::format("shown: {} of the event's {} samples, {} % of its {} (idle ones included)", event.samples,
                       event.whole_samples, percent(event.weight, event.whole_weight),
                       event.unit == WeightUnit::kNanoseconds ? "time" : "count");
}

bool shows_chains(const ReportOptions& options, const ChainRoots& roots) {
    if (options.chains == ReportOptions::Chains::kHide || !roots.recorded) return false;
    return options.chains == ReportOptions::Chains::kShow || !roots.mostly_unrooted();
}

std::string function_text(const ProfileFunction& function) {
    if (function.reason == UnknownReason::kNone) return escape(function_label(function));
    return fmt::format("[unknown: {}]", reason_name(function.reason));
}

void write_event_head(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t index) {
    const auto& event = profile.events[index];
    page.line("");
    page.sentence(fmt::format("{}: {}", escape(event.name), event_summary(event, options)), 0);
    if (!profile.filter.empty()) page.sentence(shown_of_whole(event), 2);
}

void write_event(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t index) {
    const auto& event = profile.events[index];
    write_event_head(page, profile, options, index);
    if (event.samples == 0) return;
    const auto shown = event_sum(event, options.idle);
    if (shown.samples == 0) {
        page.line("  every sample was idle");
        return;
    }
    if (!options.by.empty()) {
        write_groups(page, profile, options, index, shown);
        return;
    }
    EventTables tables(page, profile, options, index, shown);
    tables.functions();
    tables.unknown();
    // Chains that are shown although most are not rooted come after what can be trusted.
    const auto roots = chain_roots(profile, index);
    const bool chains = shows_chains(options, roots);
    const bool last = chains && roots.mostly_unrooted();
    if (chains && !last) write_call_chains(page, profile, options, index, shown, tables.totals());
    tables.shares(Dimension::kDso, "DSO");
    tables.shares(Dimension::kComm, "command");
    tables.shares(Dimension::kUnit, "unit");
    if (last) write_call_chains(page, profile, options, index, shown, tables.totals());
}

}  // namespace perfvigil::analyzer
