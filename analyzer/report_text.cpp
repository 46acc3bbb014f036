// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "analyzer/breakdown.hpp"
#include "analyzer/report.hpp"
#include "analyzer/text_table.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"

namespace perfvigil::analyzer {
namespace {

using enum TextTable::Align;

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.2f}", 100.0 * part / whole) : "-"; }
std::string percent(std::uint64_t part, std::uint64_t whole) {
    return percent(static_cast<double>(part), static_cast<double>(whole));
}
std::string ratio_percent(double ratio) { return fmt::format("{:.1f}", 100.0 * ratio); }
std::string seconds(std::int64_t ns) {
    // "-0.000" would read as a finding.
    const double value = static_cast<double>(ns) / 1e9;
    return fmt::format("{:.3f}", std::abs(value) < 0.0005 ? 0.0 : value);
}
std::string count(std::uint64_t value) { return std::to_string(value); }

template <class Rows>
std::span<const typename Rows::value_type> top_of(const Rows& rows, std::size_t top) {
    const std::span all(rows.data(), rows.size());
    return top == 0 ? all : all.first(std::min(top, all.size()));
}

class TextReport {
public:
    TextReport(const Profile& profile, const ReportOptions& options) : profile_(profile), options_(options) {}

    std::string write() {
        header();
        conditions();
        cpus();
        ledger();
        for (std::uint32_t i = 0; i < profile_.events.size(); ++i) event(i);
        broken_stacks();
        notes();
        return std::move(out_);
    }

private:
    void line(std::string_view text) {
        out_ += text;
        out_ += '\n';
    }
    void table(const TextTable& table) { out_ += table.render(options_.width); }

    void header() {
        const auto& host = profile_.host;
        line(fmt::format("perfvigil report {}", escape(profile_.id)));
        line(fmt::format("  host {}, Linux {} {}, {} CPUs online{}{}", escape(host.hostname), escape(host.os_release),
                         escape(host.architecture), host.cpus_online, host.cpu_description.empty() ? "" : ", ",
                         escape(host.cpu_description)));
        const auto when = profile_.end == WallTime{}
                              ? "at an unknown time"
                              : fmt::format("{} to {} UTC", readable_time(profile_.start), readable_time(profile_.end));
        line(fmt::format("  {}, {:.1f} s{}{}{}", when, to_seconds(profile_.duration),
                         host.recorder.empty() ? "" : ", recorded by ", escape(host.recorder),
                         profile_.partial ? "; partial window" : ""));
    }

    void conditions() {
        if (!profile_.degraded.empty()) line("\nDegraded");
        for (const auto& degraded : profile_.degraded) {
            line(fmt::format("  {}: {}", degraded.reason, escape(degraded.detail)));
            if (!degraded.remedy.empty()) line(fmt::format("    {}", escape(degraded.remedy)));
        }
        if (!profile_.warnings.empty()) line("\nWarnings");
        for (const auto& warning : profile_.warnings) line(fmt::format("  {}", escape(warning)));
    }

    void cpus() {
        std::vector<const ProfileCpu*> rows;
        for (const auto& cpu : profile_.cpus) {
            if (cpu.busy.known) rows.push_back(&cpu);
        }
        if (rows.empty()) return;
        line(rows.front()->sum.time_estimated ? "\nCPUs, percent of their time (estimated from the times of samples)"
                                              : "\nCPUs, percent of their time");
        if (options_.top != 0 && rows.size() > options_.top) {
            std::ranges::stable_sort(rows, std::greater{}, [](const ProfileCpu* cpu) { return cpu->busy.ratio; });
            line(fmt::format("  the {} busiest of {}", options_.top, rows.size()));
            rows.resize(options_.top);
        }
        TextTable table;
        table.column("cpu", kRight).column("busy", kRight).column("95 % interval", kRight).column("user", kRight);
        table.column("kernel", kRight).column("softirq", kRight).column("idle", kRight).column("unknown", kRight);
        table.column("coverage", kRight).column("lost", kRight).column("frequency", kRight);
        for (const auto* cpu : rows) table.row(cpu_row(*cpu));
        this->table(table);
    }

    static std::vector<std::string> cpu_row(const ProfileCpu& cpu) {
        const auto total = static_cast<double>(cpu.ledger.total);
        const auto mode = [&](Mode m) {
            return percent(static_cast<double>(cpu.sum.mode_time[index_of(m)].count()), total);
        };
        const auto unknown = cpu.ledger.lost + cpu.ledger.throttled + std::max<std::int64_t>(cpu.ledger.unexplained, 0);
        const auto idle = cpu.sum.mode_time[index_of(Mode::kIdle)].count() + cpu.ledger.idle_unsampled;
        const double hertz = effective_hertz(cpu.sum);
        return {count(cpu.sum.cpu.value),
                ratio_percent(cpu.busy.ratio),
                fmt::format("{:.1f} to {:.1f}", 100 * cpu.busy.interval.low, 100 * cpu.busy.interval.high),
                mode(Mode::kUser),
                mode(Mode::kKernel),
                mode(Mode::kSoftirq),
                percent(static_cast<double>(idle), total),
                percent(static_cast<double>(unknown), total),
                ratio_percent(cpu.busy.coverage),
                count(cpu.sum.lost),
                hertz > 0 ? fmt::format("{:.2f} GHz", hertz / 1e9) : "-"};
    }

    void ledger() {
        ClockLedger sum;
        TextTable table;
        table.column("cpu", kRight).column("total", kRight).column("busy", kRight).column("idle", kRight);
        table.column("irq in idle", kRight).column("lost", kRight).column("throttled", kRight);
        table.column("idle unsampled", kRight).column("stolen", kRight).column("unexplained", kRight);
        const auto add = [&](std::string name, const ClockLedger& l) {
            table.row({std::move(name), seconds(l.total), seconds(l.busy), seconds(l.idle), seconds(l.irq_in_idle),
                       seconds(l.lost), seconds(l.throttled), seconds(l.idle_unsampled), seconds(l.stolen),
                       seconds(l.unexplained)});
        };
        std::size_t shown = 0;
        for (const auto& cpu : profile_.cpus) {
            if (!cpu.sum.clock_recorded) continue;
            sum += cpu.ledger;
            if (options_.top == 0 || shown < options_.top) add(count(cpu.sum.cpu.value), cpu.ledger);
            ++shown;
        }
        if (shown == 0) return;
        if (shown > 1) add("all", sum);
        line("\nClock ledger, seconds: total = the sum of the other columns");
        this->table(table);
    }

    void event(std::uint32_t index) {
        const auto& event = profile_.events[index];
        const auto shown = event_sum(event, options_.idle);
        line(fmt::format("\n{}: {}", escape(event.name), event_summary(event)));
        if (event.samples == 0) return;
        if (shown.samples == 0) {
            line("  every sample was idle");
            return;
        }
        functions(index, shown);
        unknown(index, shown);
        shares(index, shown, Dimension::kDso, "DSO");
        shares(index, shown, Dimension::kComm, "command");
        shares(index, shown, Dimension::kUnit, "unit");
    }

    [[nodiscard]] std::string event_summary(const ProfileEvent& event) const {
        std::string text = fmt::format("{} samples", event.samples);
        const auto weight = static_cast<double>(event.weight);
        switch (event.unit) {
            case WeightUnit::kNanoseconds: text += fmt::format(" = {:.3f} s", weight / 1e9); break;
            case WeightUnit::kCycles: text += fmt::format(", {:.4g} cycles", weight); break;
            case WeightUnit::kEvents: text += fmt::format(", {} events", event.weight); break;
        }
        if (event.rate != 0) {
            text +=
                event.frequency_mode ? fmt::format(" at {} Hz", event.rate) : fmt::format(", one in {}", event.rate);
        }
        text += fmt::format("; lost {}{}", event.lost, event.lost_is_shared ? " (of all events of its rings)" : "");
        if (event.idle_samples != 0) {
            text += fmt::format("; {} idle samples {}", event.idle_samples,
                                options_.idle == IdleRows::kExclude ? "left out below" : "included below");
        }
        return text;
    }

    void functions(std::uint32_t index, EventSum shown) {
        const auto rows = function_totals(profile_, index, options_.idle);
        TextTable table;
        table.column("self %", kRight).column("total %", kRight).column("samples", kRight);
        table.column("DSO", kLeft).column("function", kLeft);
        for (const auto& row : top_of(rows, options_.top)) {
            const auto& function = profile_.functions[row.function];
            table.row({percent(row.self_weight, shown.weight), percent(row.total_weight, shown.weight),
                       count(row.self_samples), shorten(escape(base_name(function.dso)), kDsoWidth),
                       function_text(function)});
        }
        this->table(table);
        if (rows.size() > options_.top && options_.top != 0) {
            line(fmt::format("  … {} more functions", rows.size() - options_.top));
        }
    }

    static std::string function_text(const ProfileFunction& function) {
        if (function.reason == UnknownReason::kNone) return escape(function.name);
        return fmt::format("[unknown: {}]", reason_name(function.reason));
    }

    void unknown(std::uint32_t index, EventSum shown) {
        const auto rows = breakdown(profile_, index, Dimension::kUnknown, options_.idle);
        if (rows.empty()) return;
        const auto sum = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0},
                                         [](std::uint64_t total, const Share& share) { return total + share.weight; });
        std::string text = fmt::format("  Without a name: {} %", percent(sum, shown.weight));
        char separator = ':';
        for (const auto& row : rows) {
            text += fmt::format("{} {} {} %", separator, row.key, percent(row.weight, shown.weight));
            separator = ',';
        }
        line(text);
    }

    void shares(std::uint32_t index, EventSum shown, Dimension dimension, std::string_view title) {
        const auto rows = breakdown(profile_, index, dimension, options_.idle);
        // One row of "none" says nothing.
        if (rows.empty() || (rows.size() == 1 && rows.front().key.empty())) return;
        TextTable table;
        table.column("%", kRight).column("samples", kRight).column(std::string(title), kLeft);
        const auto top = options_.top == 0 ? 0 : std::max<std::size_t>(options_.top / 2, 5);
        for (const auto& row : top_of(rows, top)) {
            table.row(
                {percent(row.weight, shown.weight), count(row.samples), row.key.empty() ? "(none)" : escape(row.key)});
        }
        line("");
        this->table(table);
    }

    void broken_stacks() {
        TextTable table;
        table.column("broken %", kRight).column("broken", kRight).column("of samples", kRight).column("DSO", kLeft);
        std::vector<BrokenStacks> rows;
        std::ranges::copy_if(profile_.broken, std::back_inserter(rows),
                             [](const auto& row) { return row.broken != 0; });
        std::ranges::sort(rows, std::greater{}, &BrokenStacks::broken);
        for (const auto& row : top_of(rows, options_.top == 0 ? 0 : std::max<std::size_t>(options_.top / 3, 3))) {
            table.row({percent(row.broken, row.samples), count(row.broken), count(row.samples), escape(row.dso)});
        }
        if (table.empty()) return;
        line("\nCall chains that break off, by the DSO they break in (code built without frame pointers)");
        this->table(table);
    }

    void notes() {
        if (!profile_.notes.empty()) line("\nNotes");
        for (const auto& note : profile_.notes) line(fmt::format("  {}", escape(note)));
    }

    static constexpr std::size_t kDsoWidth = 28;

    const Profile& profile_;
    const ReportOptions& options_;
    std::string out_;
};

}  // namespace

std::string report_text(const Profile& profile, const ReportOptions& options) {
    return TextReport(profile, options).write();
}

}  // namespace perfvigil::analyzer
