// SPDX-License-Identifier: GPL-2.0-or-later
// One event in HTML: functions, call chains, flame graph, shares.
#include <algorithm>

#include <fmt/core.h>

#include "analyzer/chain_ends.hpp"
#include "analyzer/export/event_flamegraph.hpp"
#include "analyzer/export/markup.hpp"
#include "analyzer/function_label.hpp"
#include "analyzer/hot_functions.hpp"
#include "analyzer/html_table.hpp"
#include "analyzer/idle_cycles.hpp"
#include "analyzer/relative_busyness.hpp"
#include "analyzer/report/html.hpp"
#include "analyzer/report/text.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using enum HtmlTable::Kind;

std::string code(std::string_view text) { return fmt::format("<code>{}</code>", text); }

std::string name_html(const ProfileFunction& function) {
    if (function.reason == UnknownReason::kNone) return code(markup(function_label(function)));
    return fmt::format("<code>[unknown in {}]</code> <span class=dim>{}</span>", markup(base_name(function.dso)),
                       reason_name(function.reason));
}

class EventPage {
public:
    EventPage(const Profile& profile, const ReportOptions& options, std::uint32_t event, EventSum shown)
        : profile_(profile), options_(options), event_(event), shown_(static_cast<double>(shown.weight)) {
        totals_ = function_totals(profile, event, options.idle);
    }

    [[nodiscard]] std::string functions() const {
        HtmlTable table;
        table.column("self %", kNumber).column("total %", kNumber).column("samples", kNumber);
        table.column("DSO", kText).column("function", kText);
        const auto rows = top_of(totals_, options_.top);
        for (const auto& row : rows) {
            const auto& function = profile_.functions[row.function];
            table.row({share(row.self_weight), share(row.total_weight), std::to_string(row.self_samples),
                       markup(base_name(function.dso)), name_html(function)});
        }
        auto out = html_element("h3", "Functions") + table.render();
        if (rows.size() < totals_.size()) {
            out += html_element("p class=dim", fmt::format("… {} more functions", totals_.size() - rows.size()));
        }
        return out;
    }

    [[nodiscard]] std::string call_chains() const {
        constexpr std::size_t kMostFunctions = 25;
        const double least = options_.percent_limit.value_or(kLeastPathPercent) / 100;
        const auto hot = hot_functions(profile_, event_, options_.idle, totals_, kMostFunctions, least * shown_,
                                       {.least_share = least, .most_rows = 40, .most_depth = 32});
        if (hot.empty()) return {};
        auto out = html_element("h3", "Call chains of the hottest functions") +
                   html_element("p class=dim", "Callers: percent of the samples in the function itself.");
        bool first = true;
        for (const auto& function : hot) {
            out += fmt::format("<details{}><summary>", std::exchange(first, false) ? " open" : "");
            out += heading(function) + "</summary>\n" + callers(function) + callees(function) + "</details>\n";
        }
        return out;
    }

    [[nodiscard]] std::string groups() const {
        if (const auto missing = keys_not_kept(profile_, options_.by); !missing.empty()) {
            return html_element("p class=alarm",
                                fmt::format("samples were not told apart by {}", group_key_name(missing.front())));
        }
        std::string title;
        for (const auto key : options_.by) title += (title.empty() ? "" : " / ") + std::string(group_key_name(key));
        HtmlTable table;
        table.column("%", kNumber).column("samples", kNumber).column(title, kText);
        for (const auto& row : nested(group_by(profile_, event_, options_.by, options_.idle))) {
            table.row({share(row.weight), std::to_string(row.samples),
                       fmt::format("<div style=\"padding-left:{}rem\">{}</div>", row.depth,
                                   row.name.empty() ? "<span class=dim>none</span>" : markup(row.name))});
        }
        return table.render();
    }

    [[nodiscard]] std::string shares(Dimension dimension, std::string_view title) const {
        const auto rows = breakdown(profile_, event_, dimension, options_.idle);
        if (rows.empty() || (rows.size() == 1 && rows.front().key.empty())) return {};
        HtmlTable table;
        table.column("%", kNumber).column("samples", kNumber).column(title, kText);
        for (const auto& row : top_of(rows, options_.top)) {
            table.row({share(row.weight), std::to_string(row.samples),
                       row.key.empty() ? "<span class=dim>none</span>" : markup(row.key)});
        }
        return html_element("h3", fmt::format("By {}", title)) + table.render();
    }

private:
    [[nodiscard]] std::string share(std::uint64_t weight) const {
        return html_share(static_cast<double>(weight), shown_);
    }

    [[nodiscard]] std::string heading(const HotFunction& hot) const {
        const auto& function = profile_.functions[hot.totals.function];
        const auto below = static_cast<double>(hot.totals.total_weight - hot.totals.self_weight);
        return fmt::format("{} <span class=dim>{}</span> self {} %, in its callees {} %", name_html(function),
                           markup(base_name(function.dso)),
                           percent(static_cast<double>(hot.totals.self_weight), shown_), percent(below, shown_));
    }

    [[nodiscard]] std::string callers(const HotFunction& hot) const {
        HtmlTable table;
        table.column("%", kNumber).column("samples", kNumber).column("called by", kText);
        const auto whole = static_cast<double>(hot.totals.self_weight);
        for (const auto& row : hot.callers.rows) {
            std::string path = fmt::format("<div style=\"padding-left:{}rem\">", row.depth);
            for (const auto function : row.functions) path += "← " + name_html(profile_.functions[function]) + " ";
            if (row.goes_on) path += "← …";
            table.row(
                {html_share(static_cast<double>(row.weight), whole), std::to_string(row.samples), path + "</div>"});
        }
        const auto rest = [&](std::uint64_t weight, std::uint64_t samples, std::string_view what) {
            if (samples == 0) return;
            table.row({html_share(static_cast<double>(weight), whole), std::to_string(samples),
                       fmt::format("<span class=dim>{}</span>", what)});
        };
        rest(hot.callers.hidden_weight, hot.callers.hidden_samples, "smaller paths");
        rest(hot.callers.root_end_weight, hot.callers.root_end_samples, "without a caller");
        return table.render();
    }

    [[nodiscard]] std::string callees(const HotFunction& hot) const {
        constexpr std::size_t kMostCallees = 10;
        if (hot.callees.empty()) return {};
        HtmlTable table;
        table.column("% of the event", kNumber).column("samples", kNumber).column("calls", kText);
        for (const auto& callee : top_of(hot.callees, kMostCallees)) {
            table.row(
                {share(callee.weight), std::to_string(callee.samples), name_html(profile_.functions[callee.function])});
        }
        return table.render();
    }

    const Profile& profile_;
    const ReportOptions& options_;
    const std::uint32_t event_;
    const double shown_;
    std::vector<FunctionTotals> totals_;
};

}  // namespace

std::string cpus_html(const Profile& profile) {
    HtmlTable cpus;
    for (const auto* title : {"cpu", "busy", "95 % interval", "user", "kernel", "softirq", "idle", "unknown",
                              "coverage", "lost", "frequency"}) {
        cpus.column(title, kNumber);
    }
    HtmlTable ledger;
    for (const auto* title : {"cpu", "total", "busy", "idle", "irq in idle", "lost", "throttled", "idle unsampled",
                              "stolen", "unexplained"}) {
        ledger.column(title, kNumber);
    }
    HtmlTable cycles;
    for (const auto* title : {"cpu", "counted", "sampled", "unattributed", "throttled s", "relative"}) {
        cycles.column(title, kNumber);
    }
    const double idle_hertz = idle_cycles_hertz(std::span(profile.cpus));
    const auto relative = relative_busyness(profile.cpus);
    ClockLedger sum;
    std::size_t clocks = 0;
    for (std::size_t i = 0; i < profile.cpus.size(); ++i) {
        const ProfileCpu& cpu = profile.cpus[i];
        if (cpu.busy.known) cpus.row(cpu_cells(cpu, idle_hertz));
        if (counts_cycles(cpu.sum)) cycles.row(cycles_cells(cpu.sum, relative[i]));
        if (!cpu.sum.clock_recorded) continue;
        sum += cpu.ledger;
        ++clocks;
        ledger.row(ledger_cells(std::to_string(cpu.sum.cpu.value), cpu.ledger));
    }
    if (clocks > 1) ledger.row(ledger_cells("all", sum));
    std::string out;
    if (!cpus.empty()) out += html_element("h2", "CPUs, percent of their time") + cpus.render();
    if (!ledger.empty()) {
        out += html_element("h2", "Clock ledger, seconds") +
               html_element("p class=dim", "total = the sum of the other columns") + ledger.render();
    }
    if (!cycles.empty()) {
        out += html_element("h2", "Cycles ledger, millions") +
               html_element("p class=dim",
                            "counted = sampled + unattributed; relative: share of all cycles over share of the clock's "
                            "samples") +
               cycles.render();
    }
    return out;
}

std::string event_html(const Profile& profile, const ReportOptions& options, std::uint32_t index) {
    const auto& event = profile.events[index];
    auto out = html_element("h2", markup(event.name)) + html_element("p", event_summary(event, options));
    if (!profile.filter.empty()) out += html_element("p class=alarm", shown_of_whole(event));
    if (event.samples == 0) return out;
    const auto shown = event_sum(event, options.idle);
    if (shown.samples == 0) return out + html_element("p", "every sample was idle");
    const EventPage page(profile, options, index, shown);
    if (!options.by.empty()) return out + page.groups();
    out += page.functions();
    const Profile marked = with_marked_ends(profile, MarkedEnds::kMissing);
    const EventPage chains_page(marked, options, index, shown);
    const auto roots = chain_roots(profile, index);
    const bool chains = options.chains != ReportOptions::Chains::kHide && roots.recorded;
    if (chains && !roots.mostly_unrooted()) out += chains_page.call_chains();
    if (chains)
        out += html_element("h3", "Flame graph") + "<figure>" +
               event_flamegraph(with_marked_ends(profile, MarkedEnds::kUnrooted), index, {.idle = options.idle}) +
               "</figure>\n";
    out += page.shares(Dimension::kDso, "DSO");
    out += page.shares(Dimension::kComm, "command");
    out += page.shares(Dimension::kUnit, "unit");
    if (chains && roots.mostly_unrooted()) out += chains_page.call_chains();
    return out;
}

}  // namespace perfvigil::analyzer
