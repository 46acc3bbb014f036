// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live_page.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analyzer/text_table.hpp"
#include "base/text.hpp"
#include "cli/daemon_json.hpp"
#include "cli/wall_times.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace json = boost::json;
namespace field = protocol::field;
using analyzer::TextTable;
using Align = TextTable::Align;

std::string percent(double ratio) { return fmt::format("{:.1f}", 100 * ratio); }

std::vector<std::string> lines_of(const TextTable& table, std::size_t width) {
    std::vector<std::string> lines;
    const auto text = table.render(width);
    for (const auto line : split(text, '\n')) lines.emplace_back(line);
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

// How the time of a CPU, or of all, divides.
std::vector<std::string> cpu_row(std::string name, const json::object& cpu) {
    const bool known = has(cpu, field::kBusy);
    const double seconds = number_at(cpu, field::kSeconds);
    const auto modes = object_at(cpu, field::kModes);
    const auto mode = [&](std::string_view key) {
        return seconds > 0 ? percent(number_at(modes, key) / seconds) : "-";
    };
    return {std::move(name),
            known ? percent(number_at(cpu, field::kBusy)) : "-",
            known ? fmt::format("{} … {}", percent(number_at(cpu, field::kBusyLow)),
                                percent(number_at(cpu, field::kBusyHigh)))
                  : "not known",
            mode(field::kUser),
            mode(field::kKernel),
            mode(field::kSoftirq),
            mode(field::kIdle),
            mode(field::kStolen),
            mode(field::kUnknown)};
}

// One line for each CPU where there is room, the busiest of them where there is not; all together last.
std::vector<std::string> cpu_lines(const json::object& slice, std::size_t room, std::size_t width) {
    TextTable table;
    table.column("CPU", Align::kRight).column("busy %", Align::kRight).column("95 %", Align::kLeft);
    for (const auto* mode : {"user", "kernel", "softirq", "idle", "stolen", "unknown"}) {
        table.column(mode, Align::kRight);
    }
    auto cpus = list_at(slice, field::kCpus);
    const std::size_t all = cpus.size();
    if (all != 1) {
        const std::size_t most = room > 2 ? room - 2 : 0;  // beside the header and the sum
        std::ranges::stable_sort(cpus, std::greater{}, [](const auto& cpu) { return number_at(cpu, field::kBusy); });
        if (cpus.size() > most) cpus.resize(most);
        std::ranges::stable_sort(cpus, std::less{}, [](const auto& cpu) { return number_at(cpu, field::kCpu); });
    }
    for (const auto& cpu : cpus) table.row(cpu_row(fmt::format("{:.0f}", number_at(cpu, field::kCpu)), cpu));
    if (all != 1) table.row(cpu_row("all", object_at(slice, field::kHost)));
    return lines_of(table, width);
}

std::string ledger_line(const json::object& slice) {
    const auto ledger = object_at(slice, field::kLedger);
    const double total = number_at(ledger, "total");
    if (!(total > 0)) return "  no clock is recorded";
    const auto share = [&](std::string_view term) {
        return fmt::format("{} {:.2f} %", term, 100 * number_at(ledger, term) / total);
    };
    return fmt::format("  ledger: {}, {}, {}, {}; coverage {:.1f} %", share("lost"), share("throttled"),
                       share("stolen"), share("unexplained"),
                       100 * number_at(object_at(slice, field::kHost), field::kCoverage));
}

std::string sampling_line(const json::object& slice) {
    std::string line;
    for (const auto& event : list_at(slice, field::kEvents)) {
        line += fmt::format("{}{} {:.0f} samples", line.empty() ? "  " : ", ", text_at(event, field::kName),
                            number_at(event, field::kSamples));
        if (const auto lost = number_at(event, field::kLost); lost > 0) line += fmt::format(", {:.0f} lost", lost);
    }
    const auto cost = object_at(slice, field::kCost);
    if (cost.empty()) return line;
    return line + fmt::format("; cost {:.2f} % of the host ({:.2f} % in the kernel), budget {:g} %",
                              100 * (number_at(cost, field::kProcesses) + number_at(cost, field::kKernel)),
                              100 * number_at(cost, field::kKernel), 100 * number_at(cost, field::kBudget));
}

std::string degraded_line(const json::object& around) {
    std::string line;
    for (const auto& one : list_at(around, field::kDegraded)) {
        line += (line.empty() ? "  degraded: " : ", ") + text_at(one, field::kReason);
    }
    return line;
}

// `room`: lines, the header among them.
std::vector<std::string> function_lines(const json::object& slice, std::size_t room, std::size_t width) {
    const double whole = number_at(slice, field::kCpuSeconds);
    TextTable table;
    table.column("self %", Align::kRight).column("seconds", Align::kRight).column("function", Align::kLeft);
    for (const auto& row : list_at(slice, field::kFunctions)) {
        if (table.size() + 1 >= room) break;
        const double seconds = number_at(row, field::kSeconds);
        auto name = text_at(row, field::kFunction);
        if (const auto why = text_at(row, field::kReason); !why.empty()) name += " [" + why + "]";
        table.row({whole > 0 ? percent(seconds / whole) : "-", fmt::format("{:.2f}", seconds),
                   fmt::format("{} ({})", name, base_name(text_at(row, field::kDso)))});
    }
    return lines_of(table, width);
}

std::vector<std::string> unit_lines(const json::object& slice, std::size_t room, std::size_t width) {
    const double whole = number_at(slice, field::kCpuSeconds);
    TextTable table;
    table.column("%", Align::kRight).column("seconds", Align::kRight).column("unit", Align::kLeft);
    for (const auto& row : list_at(slice, field::kUnits)) {
        if (table.size() + 1 >= room) break;
        const double seconds = number_at(row, field::kSeconds);
        auto name = text_at(row, field::kUnit);
        if (name.empty()) name = "(no unit)";
        if (const auto stopped = number_at(row, field::kThrottledSeconds); stopped > 0) {
            name += fmt::format("  stopped by its limit for {:.2f} s", stopped);
        }
        table.row({whole > 0 ? percent(seconds / whole) : "-", fmt::format("{:.2f}", seconds), std::move(name)});
    }
    return lines_of(table, width);
}

}  // namespace

Result<void> LiveView::take(std::string_view answer) {
    auto parsed = parse_answer(answer);
    if (!parsed) return fail(std::move(parsed.error()));
    // A daemon that was started anew counts from the start.
    if (auto run = text_at(*parsed, field::kRun); run != run_) {
        run_ = std::move(run);
        newest_ = 0;
    }
    auto slices = list_at(*parsed, field::kSliceList);
    parsed->erase(field::kSliceList);
    around_ = std::move(*parsed);
    if (slices.empty()) return {};
    slice_ = std::move(slices.back());
    newest_ = static_cast<std::uint64_t>(std::max(0.0, number_at(slice_, field::kNumber)));
    return {};
}

std::vector<std::string> LiveView::page(ScreenSize screen, std::string_view trouble) const {
    std::vector<std::string> lines;
    const auto end = parse_wall_time(text_at(slice_, field::kEnd), {});
    lines.push_back(fmt::format("{}  {}  {}, slices of {:g} s  (q: quit)", text_at(around_, field::kHost),
                                end ? local_time(*end) : "no slice yet", text_at(around_, field::kState),
                                number_at(around_, field::kSliceSeconds)));
    if (!trouble.empty()) lines.push_back("  " + std::string(trouble));
    if (auto degraded = degraded_line(around_); !degraded.empty()) lines.push_back(std::move(degraded));
    const auto append = [&](std::vector<std::string> more) { std::ranges::move(more, std::back_inserter(lines)); };
    if (!slice_.empty()) {
        append(cpu_lines(slice_, std::max<std::size_t>(screen.rows / 3, 3), screen.columns));
        lines.push_back(ledger_line(slice_));
        lines.push_back(sampling_line(slice_));
        lines.emplace_back();
        // What is left: two thirds functions, one third units; neither keeps empty what the other could use.
        const std::size_t left = screen.rows > lines.size() ? screen.rows - lines.size() : 0;
        auto units = unit_lines(slice_, std::max<std::size_t>(left / 3, 2), screen.columns);
        const std::size_t for_functions = left > units.size() + 1 ? left - units.size() - 1 : 0;
        append(function_lines(slice_, for_functions, screen.columns));
        lines.emplace_back();
        append(std::move(units));
    }
    if (lines.size() > screen.rows) lines.resize(screen.rows);
    for (auto& line : lines) line = analyzer::shorten(line, screen.columns);
    return lines;
}

}  // namespace perfvigil::cli
