// SPDX-License-Identifier: GPL-2.0-or-later
// One file that holds everything: no request leaves the page, and without JavaScript only sorting is missing.
#include "analyzer/report/html.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "analyzer/chain_ends.hpp"
#include "analyzer/chain_roots.hpp"
#include "analyzer/export/markup.hpp"
#include "analyzer/html_table.hpp"
#include "analyzer/observations.hpp"
#include "analyzer/origin_text.hpp"
#include "analyzer/text_page.hpp"

namespace perfvigil::analyzer {
namespace {

using enum HtmlTable::Kind;

std::string summary_html(const Profile& profile) {
    auto out = html_element("h1", "perfvigil report " + markup(profile.id));
    const auto host = host_text(profile.host);
    out += html_element("p", host.empty() ? "from an unknown host" : markup(host));
    out += html_element("p", markup(time_text(profile)));
    if (!profile.filter.empty()) {
        out += html_element("p class=alarm", "Shown: only <code>" + markup(profile.filter) + "</code>");
    }
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        const auto roots = chain_roots(profile, i);
        if (!roots.mostly_unrooted()) continue;
        out += html_element("p class=alarm",
                            fmt::format("Only {} % of the call chains of {} are rooted: they reach main, the start of "
                                        "a thread or an entry of the kernel. The others end somewhere in between: "
                                        "shares of callers mislead.",
                                        percent(roots.rooted, roots.samples), markup(profile.events[i].name)));
    }
    return out;
}

std::string conditions_html(const Profile& profile) {
    std::string out;
    if (!profile.degraded.empty()) out += html_element("h2", "Degraded");
    for (const auto& degraded : profile.degraded) {
        out += html_element("p", fmt::format("<b>{}</b>: {}", markup(degraded.reason), markup(degraded.detail)));
        if (!degraded.remedy.empty()) out += html_element("p class=dim", markup(degraded.remedy));
    }
    if (!profile.warnings.empty()) out += html_element("h2", "Warnings");
    for (const auto& warning : profile.warnings) out += html_element("p", markup(warning));
    return out;
}

std::string observations_html(const std::vector<Observation>& observations) {
    std::string out;
    if (!observations.empty()) out += html_element("h2", "Observations");
    for (const auto& row : observations) {
        out += html_element(
            "p", fmt::format("<b>{} {}</b>: {}", severity_name(row.severity), markup(row.id), markup(row.evidence)));
        out += html_element("p class=dim", markup(row.meaning + " " + row.remedy));
    }
    return out;
}

std::string chain_ends_html(const Profile& profile) {
    const auto event = event_with_chains(profile);
    if (!event) return {};
    HtmlTable table;
    table.column("unrooted %", kNumber).column("broken", kNumber).column("truncated", kNumber);
    table.column("rootless", kNumber).column("of samples", kNumber).column("DSO", kText);
    for (const auto& row : chain_end_counts(profile, *event)) {
        const auto cut = row.ends[index_of(ChainEnd::kTruncated)] + row.ends[index_of(ChainEnd::kShortened)];
        table.row({percent(row.unrooted(), row.samples), std::to_string(row.ends[index_of(ChainEnd::kBroken)]),
                   std::to_string(cut), std::to_string(row.ends[index_of(ChainEnd::kRootless)]),
                   std::to_string(row.samples), html_element("code", markup(row.dso))});
    }
    if (table.empty()) return {};
    return html_element("h2", "Call chains of " + markup(profile.events[*event].name) +
                                  " that do not reach a root, by the DSO they end in") +
           table.render();
}

}  // namespace

std::string report_html(const Profile& profile, const ReportOptions& options) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n";
    out += html_element("title", "perfvigil report " + markup(profile.id));
    out += html_element("style", report_style());
    out += "</head><body>\n";
    out += summary_html(profile);
    out += conditions_html(profile);
    out += observations_html(observe(profile));
    out += cpus_html(profile);
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) out += event_html(profile, options, i);
    out += chain_ends_html(profile);
    if (!profile.notes.empty()) out += html_element("h2", "Notes");
    for (const auto& note : profile.notes) out += html_element("p", markup(note));
    out += html_element("script", report_script());
    return out + "</body></html>\n";
}

}  // namespace perfvigil::analyzer
