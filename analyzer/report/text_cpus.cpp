// SPDX-License-Identifier: GPL-2.0-or-later
// How busy each CPU was, and where all of its time went.
#include <algorithm>

#include <fmt/core.h>

#include "analyzer/idle_cycles.hpp"
#include "analyzer/kernel_accounts.hpp"
#include "analyzer/relative_busyness.hpp"
#include "analyzer/report/text.hpp"

namespace perfvigil::analyzer {
namespace {

using enum TextTable::Align;

std::string frequency_cell(const CpuSlice& cpu, double idle_hertz) {
    if (!cpu.cycles_recorded) return "-";
    const double hertz = effective_hertz(cpu, idle_hertz);
    return hertz > 0 ? fmt::format("{:.2f} GHz", hertz / 1e9) : "n/a";
}

// Of CPUs that worked and counted cycles, and have none all the same.
void write_missing_frequencies(TextPage& page, std::span<const ProfileCpu* const> cpus) {
    constexpr std::size_t kNamed = 8;
    for (const auto& [why, words] :
         {std::pair(NoFrequency::kCounterStood, "the cycles counter may have missed much of the work"),
          std::pair(NoFrequency::kClockSilent, "too many clock samples are missing to know how long it worked"),
          std::pair(NoFrequency::kBusyDisputed,
                    "/proc/stat says that it worked longer or shorter than samples show")}) {
        std::string names;
        std::size_t count = 0;
        for (const auto* cpu : cpus) {
            if (frequency_of(cpu->sum).why != why) continue;
            if (count++ < kNamed) names += fmt::format("{}{}", names.empty() ? "" : ", ", cpu->sum.cpu.value);
        }
        if (count == 0) continue;
        if (count > kNamed) names += fmt::format(" and {} more", count - kNamed);
        page.sentence(fmt::format("No frequency of CPU {}: {}.", names, words), 2);
    }
}

std::string ratio_percent(double ratio) { return fmt::format("{:.1f}", 100.0 * ratio); }

// Invisible to samples of running code: how long tasks that could run did not.
void write_waiting(TextPage& page, const Profile& profile) {
    const Waiting sum = waiting_of(profile.cpus);
    if (sum.waited <= 0) return;
    const auto most = std::ranges::max_element(profile.cpus, {}, &ProfileCpu::run_delay_ns);
    page.line("");
    page.sentence(
        fmt::format("Runnable tasks waited {:.3f} s for a CPU, {:.1f} % of the time in which they wanted one; most "
                    "for CPU {}: {:.3f} s.",
                    sum.waited / 1e9, 100 * sum.share(), most->sum.cpu.value,
                    static_cast<double>(most->run_delay_ns) / 1e9),
        2);
}

}  // namespace

std::vector<std::string> cpu_cells(const ProfileCpu& cpu, double idle_hertz) {
    const auto total = static_cast<double>(cpu.ledger.total);
    const auto mode = [&](Mode m) {
        return percent(static_cast<double>(cpu.sum.mode_time[index_of(m)].count()), total);
    };
    const auto silent = silent_time(cpu.sum).count();
    const auto unknown = cpu.ledger.lost + silent + std::max<std::int64_t>(cpu.ledger.unexplained, 0);
    const auto idle = cpu.sum.mode_time[index_of(Mode::kIdle)].count() + cpu.ledger.idle_unsampled +
                      cpu.sum.throttled.count() - silent;
    return {std::to_string(cpu.sum.cpu.value),
            ratio_percent(cpu.busy.ratio),
            fmt::format("{:.1f} to {:.1f}", 100 * cpu.busy.interval.low, 100 * cpu.busy.interval.high),
            mode(Mode::kUser),
            mode(Mode::kKernel),
            mode(Mode::kSoftirq),
            percent(static_cast<double>(idle), total),
            percent(static_cast<double>(unknown), total),
            ratio_percent(cpu.busy.coverage),
            std::to_string(cpu.sum.lost),
            frequency_cell(cpu.sum, idle_hertz)};
}

std::vector<std::string> ledger_cells(std::string name, const ClockLedger& l) {
    return {std::move(name),        seconds(l.total),      seconds(l.busy),      seconds(l.idle),
            seconds(l.irq_in_idle), seconds(l.lost),       seconds(l.throttled), seconds(l.idle_unsampled),
            seconds(l.stolen),      seconds(l.unexplained)};
}

std::vector<std::string> cycles_cells(const CpuSlice& cpu, double relative) {
    const CyclesLedger ledger = cycles_ledger(cpu);
    const auto millions = [](auto cycles) { return fmt::format("{:.1f}", static_cast<double>(cycles) / 1e6); };
    return {std::to_string(cpu.cpu.value),     cpu.cycles_recorded ? millions(ledger.counted) : "-",
            millions(ledger.sampled),          cpu.cycles_recorded ? millions(ledger.unattributed) : "-",
            seconds(ledger.throttled.count()), relative > 0 ? fmt::format("{:.2f}", relative) : "-"};
}

void write_cpus(TextPage& page, const Profile& profile, const ReportOptions& options) {
    std::vector<const ProfileCpu*> rows;
    for (const auto& cpu : profile.cpus) {
        if (cpu.busy.known) rows.push_back(&cpu);
    }
    if (rows.empty()) return;
    page.line(rows.front()->sum.time_estimated ? "\nCPUs, percent of their time (estimated from the times of samples)"
                                               : "\nCPUs, percent of their time");
    if (options.top != 0 && rows.size() > options.top) {
        std::ranges::stable_sort(rows, std::greater{}, [](const ProfileCpu* cpu) { return cpu->busy.ratio; });
        page.line(fmt::format("  the {} busiest of {}", options.top, rows.size()));
        rows.resize(options.top);
    }
    TextTable table;
    table.column("cpu", kRight).column("busy", kRight).column("95 % interval", kRight).column("user", kRight);
    table.column("kernel", kRight).column("softirq", kRight, "soft\nirq").column("idle", kRight);
    table.column("unknown", kRight, "un-\nknown").column("coverage", kRight, "cover-\nage").column("lost", kRight);
    table.column("frequency", kRight, "fre-\nquency");
    const double idle_hertz = idle_cycles_hertz(std::span(profile.cpus));
    for (const auto* cpu : rows) table.row(cpu_cells(*cpu, idle_hertz));
    page.table(table);
    write_missing_frequencies(page, rows);
    write_waiting(page, profile);
}

void write_ledger(TextPage& page, const Profile& profile, const ReportOptions& options) {
    ClockLedger sum;
    TextTable table;
    table.column("cpu", kRight).column("total", kRight).column("busy", kRight).column("idle", kRight);
    table.column("irq in idle", kRight, "irq in\nidle").column("lost", kRight);
    table.column("throttled", kRight, "throt-\ntled").column("idle unsampled", kRight, "idle un-\nsampled");
    table.column("stolen", kRight).column("unexplained", kRight, "unex-\nplained");
    const auto add = [&](std::string name, const ClockLedger& l) { table.row(ledger_cells(std::move(name), l)); };
    std::size_t shown = 0;
    for (const auto& cpu : profile.cpus) {
        if (!cpu.sum.clock_recorded) continue;
        sum += cpu.ledger;
        if (options.top == 0 || shown < options.top) add(std::to_string(cpu.sum.cpu.value), cpu.ledger);
        ++shown;
    }
    if (shown == 0) return;
    if (shown > 1) add("all", sum);
    page.line("\nClock ledger, seconds: total = the sum of the other columns");
    page.table(table);
}

void write_cycles_ledger(TextPage& page, const Profile& profile, const ReportOptions& options) {
    TextTable table;
    table.column("cpu", kRight).column("counted", kRight).column("sampled", kRight);
    table.column("unattributed", kRight, "unattri-\nbuted").column("throttled s", kRight, "throt-\ntled s");
    table.column("relative", kRight, "rela-\ntive");
    const auto relative = relative_busyness(profile.cpus);
    for (std::size_t i = 0; i < profile.cpus.size(); ++i) {
        const CpuSlice& cpu = profile.cpus[i].sum;
        if (!counts_cycles(cpu) || (options.top != 0 && table.size() == options.top)) continue;
        table.row(cycles_cells(cpu, relative[i]));
    }
    if (table.empty()) return;
    page.line("\nCycles ledger, millions: counted = sampled + unattributed");
    page.table(table);
    page.sentence(
        "relative: the CPU's share of all cycles over its share of the clock's samples; 1 where all CPUs are "
        "alike, however busy they are",
        2);
}

}  // namespace perfvigil::analyzer
