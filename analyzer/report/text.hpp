// SPDX-License-Identifier: GPL-2.0-or-later
// The sections of a text report, each written onto a page. What they mean stands in report.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown.hpp"
#include "analyzer/chain_roots.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/report.hpp"
#include "analyzer/text_page.hpp"

namespace perfvigil::analyzer {

void write_cpus(TextPage& page, const Profile& profile, const ReportOptions& options);
void write_ledger(TextPage& page, const Profile& profile, const ReportOptions& options);
void write_cycles_ledger(TextPage& page, const Profile& profile, const ReportOptions& options);

// The numbers of one CPU, as the columns of those tables have them; `idle_hertz`: idle_cycles_hertz() of all.
[[nodiscard]] std::vector<std::string> cpu_cells(const ProfileCpu& cpu, double idle_hertz);
[[nodiscard]] std::vector<std::string> ledger_cells(std::string name, const ClockLedger& ledger);
[[nodiscard]] inline bool counts_cycles(const CpuSlice& cpu) { return cpu.cycles_recorded || cpu.cycles_samples > 0; }
// `relative`: its relative_busyness().
[[nodiscard]] std::vector<std::string> cycles_cells(const CpuSlice& cpu, double relative);

// What the event is, how much of it a filter left, and its tables.
void write_event(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t event);
// The first line of that.
void write_event_head(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t event);
void write_groups(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t event,
                  EventSum shown);
// `totals`: function_totals of the event.
void write_call_chains(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t event,
                       EventSum shown, const std::vector<FunctionTotals>& totals);
// In place of everything about events: the callers and callees of what `options.focus` matches.
void write_focus(TextPage& page, const Profile& profile, const ReportOptions& options);

// "1972 samples = 19.919 s at 99 Hz; lost 0"
[[nodiscard]] std::string event_summary(const ProfileEvent& event, const ReportOptions& options);
// "shown: 6 of the event's 18 samples, 33.33 % of its time (idle ones included)"
[[nodiscard]] std::string shown_of_whole(const ProfileEvent& event);
// Whether the event's call chains are in the report.
[[nodiscard]] bool shows_chains(const ReportOptions& options, const ChainRoots& roots);

// "memcpy"; "[unknown: stripped]".
[[nodiscard]] std::string function_text(const ProfileFunction& function);

template <class Rows>
[[nodiscard]] std::span<const typename Rows::value_type> top_of(const Rows& rows, std::size_t top) {
    const std::span all(rows.data(), rows.size());
    return top == 0 ? all : all.first(std::min(top, all.size()));
}

}  // namespace perfvigil::analyzer
