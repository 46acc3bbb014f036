// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/report/text.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "analyzer/chain_ends.hpp"
#include "analyzer/origin_text.hpp"
#include "analyzer/report/observations.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using enum TextTable::Align;

void write_header(TextPage& page, const Profile& profile) {
    page.line(fmt::format("perfvigil report {}", escape(profile.id)));
    const auto host = host_text(profile.host);
    page.sentence(host.empty() ? "from an unknown host" : escape(host), 2);
    page.sentence(escape(time_text(profile)), 2);
    if (!profile.filter.empty()) page.sentence("shown: only " + escape(profile.filter), 2);
}

// Where most chains are no use, this is the first thing to know.
void write_roots(TextPage& page, const Profile& profile, const ReportOptions& options) {
    if (options.chains == ReportOptions::Chains::kHide) return;
    bool said = false;
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        const auto roots = chain_roots(profile, i);
        if (!roots.mostly_unrooted()) continue;
        if (!std::exchange(said, true)) page.line("");
        page.sentence(fmt::format("Only {} % of the call chains of {} are rooted: they reach main, the start of a "
                                  "thread or an entry of the kernel.",
                                  percent(roots.rooted, roots.samples), escape(profile.events[i].name)),
                      0);
    }
    if (!said) return;
    page.sentence(options.chains == ReportOptions::Chains::kShow || !options.focus.empty()
                      ? "The others end somewhere in between: who called whom is known in part, and shares of callers "
                        "mislead."
                      : "The others end somewhere in between, so totals are too small and call chains are left out "
                        "(--call-chains shows them).",
                  0);
}

void write_conditions(TextPage& page, const Profile& profile) {
    if (!profile.degraded.empty()) page.line("\nDegraded");
    for (const auto& degraded : profile.degraded) {
        page.sentence(fmt::format("{}: {}", escape(degraded.reason), escape(degraded.detail)), 2);
        if (!degraded.remedy.empty()) page.sentence(escape(degraded.remedy), 4, 0);
    }
    if (!profile.warnings.empty()) page.line("\nWarnings");
    for (const auto& warning : profile.warnings) page.sentence(escape(warning), 2);
}

void write_chain_ends(TextPage& page, const Profile& profile, const ReportOptions& options) {
    const auto event = event_with_chains(profile);
    if (!event) return;
    const auto rows = chain_end_counts(profile, *event);
    TextTable table;
    table.column("unrooted %", kRight).column("broken", kRight).column("truncated", kRight);
    table.column("rootless", kRight).column("of samples", kRight).column("DSO", kLeft);
    for (const auto& row : top_of(rows, options.top == 0 ? 0 : std::max<std::size_t>(options.top / 3, 3))) {
        const auto cut = row.ends[index_of(ChainEnd::kTruncated)] + row.ends[index_of(ChainEnd::kShortened)];
        table.row({percent(row.unrooted(), row.samples), std::to_string(row.ends[index_of(ChainEnd::kBroken)]),
                   std::to_string(cut), std::to_string(row.ends[index_of(ChainEnd::kRootless)]),
                   std::to_string(row.samples), escape(row.dso)});
    }
    if (table.empty()) return;
    page.line("");
    page.sentence(fmt::format("Call chains of {} that do not reach a root, by the DSO they end in",
                              escape(profile.events[*event].name)),
                  0);
    page.table(table);
}

void write_notes(TextPage& page, const Profile& profile) {
    if (!profile.notes.empty()) page.line("\nNotes");
    for (const auto& note : profile.notes) page.sentence(escape(note), 2);
}

}  // namespace

std::string report_text(const Profile& profile, const ReportOptions& options) {
    TextPage page(options.width);
    write_header(page, profile);
    write_roots(page, profile, options);
    auto observations = observe(profile);
    // One function's page has only what may make it wrong.
    if (!options.focus.empty()) {
        std::erase_if(observations, [](const Observation& row) { return row.severity != Severity::kWarning; });
    }
    write_conditions(page, profile);
    write_observations(page, observations);
    if (!options.focus.empty()) {
        write_focus(page, profile, options);
    } else {
        write_cpus(page, profile, options);
        write_ledger(page, profile, options);
        write_cycles_ledger(page, profile, options);
        for (std::uint32_t i = 0; i < profile.events.size(); ++i) write_event(page, profile, options, i);
        write_chain_ends(page, profile, options);
    }
    write_notes(page, profile);
    return page.take();
}

}  // namespace perfvigil::analyzer
