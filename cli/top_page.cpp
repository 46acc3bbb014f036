// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/top_page.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "analyzer/text_table.hpp"
#include "base/text.hpp"
#include "cli/wall_times.hpp"

namespace perfvigil::cli {
namespace {

using analyzer::Profile;
using analyzer::TextTable;
using Align = TextTable::Align;

constexpr std::size_t kMostCpus = 16;  // more are summed up

std::string percent(double ratio) { return fmt::format("{:.1f}", ratio * 100); }

// What time is told from, else what was sampled first.
std::uint32_t main_event(const Profile& profile) {
    const auto clock =
        std::ranges::find(profile.events, analyzer::WeightUnit::kNanoseconds, &analyzer::ProfileEvent::unit);
    return clock == profile.events.end() ? 0 : static_cast<std::uint32_t>(clock - profile.events.begin());
}

std::string cpu_lines(const Profile& profile, std::size_t width) {
    TextTable table;
    table.column("CPU", Align::kRight).column("busy %", Align::kRight).column("95 %", Align::kLeft);
    analyzer::CpuSlice all;
    for (const auto& cpu : profile.cpus) {
        if (!cpu.busy.known) continue;
        accumulate(all, cpu.sum);
        if (profile.cpus.size() > kMostCpus) continue;
        table.row({std::to_string(cpu.sum.cpu.value), percent(cpu.busy.ratio),
                   fmt::format("{} … {}", percent(cpu.busy.interval.low), percent(cpu.busy.interval.high))});
    }
    const auto busy = busy_of(all);
    if (!busy.known) return "  how busy the CPUs were is not known: no clock was recorded\n";
    if (table.size() != 1) {
        table.row({"all", percent(busy.ratio),
                   fmt::format("{} … {}", percent(busy.interval.low), percent(busy.interval.high))});
    }
    return table.render(width);
}

std::string ledger_line(const Profile& profile) {
    analyzer::ClockLedger sum;
    for (const auto& cpu : profile.cpus) sum += cpu.ledger;
    if (sum.total <= 0) return {};
    const auto share = [&](std::int64_t part) {
        return fmt::format("{:.2f} %", 100 * static_cast<double>(part) / static_cast<double>(sum.total));
    };
    return fmt::format("  ledger: lost {}, throttled {}, stolen {}, unexplained {}\n", share(sum.lost),
                       share(sum.throttled), share(sum.stolen), share(sum.unexplained));
}

std::string functions(const Profile& profile, std::uint32_t event, double whole, std::size_t rows, std::size_t width) {
    TextTable table;
    table.column("self %", Align::kRight).column("total %", Align::kRight).column("function", Align::kLeft);
    for (const auto& row : function_totals(profile, event, analyzer::IdleRows::kExclude)) {
        if (table.size() == rows || row.self_weight == 0) break;
        const auto& function = profile.functions[row.function];
        table.row({percent(static_cast<double>(row.self_weight) / whole),
                   percent(static_cast<double>(row.total_weight) / whole),
                   fmt::format("{} ({})", escape(function.name), escape(base_name(function.dso)))});
    }
    return table.render(width);
}

std::string units(const Profile& profile, std::uint32_t event, double whole, std::size_t rows, std::size_t width) {
    std::map<std::string_view, std::uint64_t> weights;
    for (const auto& sample : profile.samples) {
        if (sample.event == event && !sample.idle) weights[profile.contexts[sample.context].unit] += sample.weight;
    }
    std::vector<std::pair<std::uint64_t, std::string_view>> sorted;
    for (const auto& [unit, weight] : weights) sorted.emplace_back(weight, unit);
    std::ranges::stable_sort(sorted, std::greater{}, [](const auto& row) { return row.first; });
    if (sorted.size() > rows) sorted.resize(rows);
    TextTable table;
    table.column("%", Align::kRight).column("unit", Align::kLeft);
    for (const auto& [weight, unit] : sorted) {
        table.row({percent(static_cast<double>(weight) / whole), unit.empty() ? "(no unit)" : escape(unit)});
    }
    return table.render(width);
}

}  // namespace

std::string top_page(const Profile& profile, std::size_t rows, std::size_t width) {
    std::string page = fmt::format("{}: {}, {:.0f} s recorded\n", escape(profile.host.hostname),
                                   local_span({profile.start, profile.end}), to_seconds(profile.duration));
    page += cpu_lines(profile, width) + ledger_line(profile);
    if (profile.events.empty()) return page;
    const auto event = main_event(profile);
    const auto& facts = profile.events[event];
    const auto whole = static_cast<double>(facts.weight - facts.idle_weight);
    if (!(whole > 0)) return page + "  nothing but idle was sampled\n";
    page += fmt::format("\n{}, {} samples, {} lost, without {} idle ones\n", escape(facts.name), facts.samples,
                        facts.lost, facts.idle_samples);
    page += functions(profile, event, whole, rows, width);
    page += "\n" + units(profile, event, whole, std::max<std::size_t>(rows / 2, 1), width);
    return page;
}

}  // namespace perfvigil::cli
