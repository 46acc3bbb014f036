// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "analyzer/diff/report.hpp"
#include "analyzer/text_table.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using enum TextTable::Align;

// "-0.00" would read as a finding.
std::string fixed(double value, int digits) {
    const double smallest = 0.5 * std::pow(10.0, -digits);
    return fmt::format("{:.{}f}", std::abs(value) < smallest ? 0.0 : value, digits);
}
std::string with_sign(double value, int digits) {
    const double smallest = 0.5 * std::pow(10.0, -digits);
    return fmt::format("{:+.{}f}", std::abs(value) < smallest ? 0.0 : value, digits);
}

std::string plural(DiffBy by, std::size_t count) {
    const bool one = count == 1;
    switch (by) {
        case DiffBy::kFunction:
        case DiffBy::kTotal: return one ? "function" : "functions";
        case DiffBy::kDso: return one ? "DSO" : "DSOs";
        case DiffBy::kComm: return one ? "command" : "commands";
        case DiffBy::kUnit: return one ? "unit" : "units";
        case DiffBy::kContainer: return one ? "container" : "containers";
    }
    return "rows";
}

class DiffText {
public:
    DiffText(const Diff& diff, const DiffReportOptions& options) : diff_(diff), options_(options) {}

    std::string write() {
        line(fmt::format("\n{}{}", escape(diff_.event), diff_.by == DiffBy::kTotal ? ", with callees" : ""));
        side("before", diff_.before);
        side("after", diff_.after);
        for (const auto& note : diff_.notes) line("  " + note);
        basis();
        verdict();
        rows();
        callees();
        limits();
        return std::move(out_);
    }

private:
    void line(std::string_view text) {
        out_ += text;
        out_ += '\n';
    }

    void side(std::string_view name, const DiffSideFacts& facts) {
        std::string text = fmt::format("  {:6} {}: {} samples", name, escape(facts.id), facts.samples);
        switch (diff_.unit) {
            case WeightUnit::kNanoseconds: text += fmt::format(" = {:.3f} s", facts.weight / 1e9); break;
            case WeightUnit::kCycles: text += fmt::format(", {:.4g} cycles", facts.weight); break;
            case WeightUnit::kEvents: text += fmt::format(", {:.6g} counts", facts.weight); break;
        }
        if (facts.rate != 0)
            text +=
                facts.frequency_mode ? fmt::format(" at {} Hz", facts.rate) : fmt::format(", one in {}", facts.rate);
        if (facts.duration.count() > 0) text += fmt::format(", in {:.1f} s", to_seconds(facts.duration));
        if (facts.cpus != 0) text += fmt::format(" of {} CPU{}", facts.cpus, facts.cpus == 1 ? "" : "s");
        if (facts.idle_samples != 0) text += fmt::format("; {} idle samples left out", facts.idle_samples);
        line(text);
    }

    void basis() {
        if (diff_.sampling_error_only) {
            line(fmt::format("  Intervals hold the sampling error only: {}.", diff_.why_sampling_only));
            return;
        }
        line(fmt::format("  Intervals hold what varied between {} and {} slices, and the sampling error.",
                         diff_.before.slices, diff_.after.slices));
        if (diff_.by == DiffBy::kTotal) {
            line("  Slices list functions without callees: what a total varies is estimated from its parts.");
        }
    }

    void verdict() {
        line("");
        if (diff_.tested == 0) {
            line(fmt::format("Nothing to judge: no {} has {} samples on either side.", plural(diff_.by, 1),
                             Diff::kFewestSamples));
            return;
        }
        if (!diff_.anything_changed()) {
            line(
                fmt::format("Nothing changed that these samples could show ({} {} judged together, false discovery "
                            "rate {:.0f} %).",
                            diff_.tested, plural(diff_.by, diff_.tested), 100 * Diff::kDiscoveryRate));
        } else if (diff_.significant == 0) {
            line(fmt::format("No {} changed its own share, but {} their callees (below).", plural(diff_.by, 1),
                             diff_.callees.size() == 1 ? "one function divides its time differently among"
                                                       : "some functions divide their time differently among"));
        } else {
            line(fmt::format("{} of {} {} changed (false discovery rate {:.0f} %; most evidence first).",
                             diff_.significant, diff_.tested, plural(diff_.by, diff_.tested),
                             100 * Diff::kDiscoveryRate));
        }
    }

    void rows() {
        if (diff_.rows.empty()) return;
        const std::size_t shown = options_.top == 0 ? diff_.rows.size() : std::min(options_.top, diff_.rows.size());
        TextTable changed = head();
        TextTable rest = head();
        for (std::size_t i = 0; i < shown; ++i) {
            (diff_.rows[i].significant ? changed : rest).row(cells(diff_.rows[i]));
        }
        if (!changed.empty()) out_ += changed.render(options_.width);
        if (!rest.empty()) {
            if (!changed.empty()) line("");
            line("  No more than chance can make:");
            out_ += rest.render(options_.width);
        }
        if (shown < diff_.rows.size()) line(fmt::format("  … {} more", diff_.rows.size() - shown));
    }

    [[nodiscard]] TextTable head() const {
        TextTable table;
        table.column("points", kRight).column("95 % interval", kRight).column("before %", kRight);
        table.column("after %", kRight);
        if (diff_.absolute_known) {
            table.column(absolute_unit(), kRight).column("95 % interval", kRight);
        }
        table.column("chance", kRight).column("", kLeft);
        const bool functions = diff_.by == DiffBy::kFunction || diff_.by == DiffBy::kTotal;
        if (functions) table.column("DSO", kLeft);
        table.column(plural(diff_.by, 1), kLeft);
        return table;
    }

    [[nodiscard]] std::string absolute_unit() const {
        switch (diff_.unit) {
            case WeightUnit::kNanoseconds: return "CPU s/s";
            case WeightUnit::kCycles: return "Mcycles/s";
            case WeightUnit::kEvents: break;
        }
        return "counts/s";
    }

    [[nodiscard]] std::vector<std::string> cells(const DiffRow& row) const {
        std::vector<std::string> cells{with_sign(100 * row.share.change(), 2),
                                       fmt::format("{} to {}", with_sign(100 * row.share.interval.low, 2),
                                                   with_sign(100 * row.share.interval.high, 2)),
                                       row.samples_before == 0 ? "-" : fixed(100 * row.share.before, 2),
                                       row.samples_after == 0 ? "-" : fixed(100 * row.share.after, 2)};
        if (diff_.absolute_known) {
            const double scale = diff_.unit == WeightUnit::kCycles ? 1e-6 : 1;
            const int digits = diff_.unit == WeightUnit::kNanoseconds ? 4 : 1;
            cells.push_back(with_sign(scale * row.absolute.change(), digits));
            cells.push_back(fmt::format("{} to {}", with_sign(scale * row.absolute.interval.low, digits),
                                        with_sign(scale * row.absolute.interval.high, digits)));
        }
        const double p = diff_.measure == DiffMeasure::kAbsolute ? row.absolute.p : row.share.p;
        cells.push_back(!row.tested ? "-" : p < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", p));
        cells.push_back(mark(row));
        if (diff_.by == DiffBy::kFunction || diff_.by == DiffBy::kTotal) {
            cells.push_back(shorten(escape(row.dso), kDsoWidth));
        }
        cells.push_back(row.name.empty() ? "(none)" : escape(row.name));
        return cells;
    }

    [[nodiscard]] std::string mark(const DiffRow& row) const {
        if (row.samples_before == 0) return "new";
        if (row.samples_after == 0) return "gone";
        if (!row.significant || !diff_.absolute_known) return "";
        // One function's growth takes share from all others.
        if (diff_.measure == DiffMeasure::kShare && !row.absolute.excludes_zero()) return "share only";
        if (diff_.measure == DiffMeasure::kAbsolute && !row.share.excludes_zero()) return "not its share";
        return "";
    }

    void callees() {
        if (diff_.callees.empty()) return;
        line("\n  Functions that divide their time differently among their callees, percent of their own total:");
        TextTable table;
        table.column("points", kRight).column("before %", kRight).column("after %", kRight);
        table.column("function", kLeft).column("callee", kLeft);
        const std::size_t shown =
            options_.top == 0 ? diff_.callees.size() : std::min(options_.top, diff_.callees.size());
        for (const auto& shift : std::span(diff_.callees).first(shown)) {
            for (const auto& callee : shift.callees) {
                const bool first = &callee == shift.callees.data();
                table.row({with_sign(100 * (callee.after - callee.before), 2), fixed(100 * callee.before, 2),
                           fixed(100 * callee.after, 2), first ? shorten(escape(shift.name), kNameWidth) : "",
                           callee.name.empty() ? "(its own code)" : escape(callee.name)});
            }
        }
        out_ += table.render(options_.width);
        if (shown < diff_.callees.size()) line(fmt::format("  … {} more", diff_.callees.size() - shown));
    }

    void limits() {
        line("");
        if (!diff_.detectable.empty()) {
            std::string text = "The smallest change that would have shown, four times in five:";
            char separator = ' ';
            for (const auto& [share, change] : diff_.detectable) {
                text += fmt::format("{}{} points at a share of {:.0f} %", separator == ' ' ? " " : ", ",
                                    fixed(100 * change, 2), 100 * share);
                separator = ',';
            }
            line(text + ".");
        }
        if (diff_.before.unresolved > 0 || diff_.after.unresolved > 0) {
            line(fmt::format("Without a name, left out: {} % before, {} % after.",
                             fixed(100 * diff_.before.unresolved, 2), fixed(100 * diff_.after.unresolved, 2)));
        }
    }

    static constexpr std::size_t kDsoWidth = 20;
    static constexpr std::size_t kNameWidth = 40;

    const Diff& diff_;
    const DiffReportOptions& options_;
    std::string out_;
};

}  // namespace

std::string_view diff_by_name(DiffBy by) {
    switch (by) {
        case DiffBy::kFunction: return "function";
        case DiffBy::kTotal: return "total";
        case DiffBy::kDso: return "dso";
        case DiffBy::kComm: return "comm";
        case DiffBy::kUnit: return "unit";
        case DiffBy::kContainer: break;
    }
    return "container";
}

std::string diff_text(std::span<const Diff> diffs, const DiffReportOptions& options) {
    if (diffs.empty()) return {};
    std::string text =
        fmt::format("perfvigil diff: {} against {}\n", escape(diffs.front().after.id), escape(diffs.front().before.id));
    for (const auto& diff : diffs) text += DiffText(diff, options).write();
    return text;
}

}  // namespace perfvigil::analyzer
