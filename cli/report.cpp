// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/report.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/profile_source.hpp"
#include "cli/selection_arguments.hpp"
#include "cli/span_arguments.hpp"
#include "cli/store_folder.hpp"

namespace perfvigil::cli {
namespace {

using analyzer::ReportOptions;

struct ReportCommandOptions {
    std::string socket;
    std::string source;
    SpanArguments span;
    enum class Format : std::uint8_t { kText, kJson, kHtml } format = Format::kText;
    std::optional<std::size_t> top;
    std::optional<std::size_t> width;
    SelectionArguments selection;
    ReportOptions report;
};

// What --by needs of a file's samples.
void tell_apart(ReportCommandOptions& options) {
    const auto asks_for = [&](analyzer::GroupKey key) {
        return std::ranges::find(options.report.by, key) != options.report.by.end();
    };
    auto& samples = options.selection.load.samples;
    samples.by_pid |= asks_for(analyzer::GroupKey::kPid);
    samples.by_tid |= asks_for(analyzer::GroupKey::kTid);
    samples.by_cpu |= asks_for(analyzer::GroupKey::kCpu);
    samples.by_line |= asks_for(analyzer::GroupKey::kSrcline);
}

int run_report(ReportCommandOptions& options) {
    using Format = ReportCommandOptions::Format;
    tell_apart(options);
    auto profile = profile_of_arguments(options.span, options.source, options.socket, options.selection.load);
    if (!profile) return complain(profile.error());
    const auto selected = analyzer::select(std::move(*profile), options.selection.names);
    auto& report = options.report;
    switch (options.format) {
        case Format::kText:
            report.top = options.top.value_or(ReportOptions{}.top);
            report.width = options.width.value_or(output_width());
            fmt::print("{}", report_text(selected, report));
            break;
        case Format::kJson:
            report.top = options.top.value_or(0);
            fmt::print("{}", report_json(selected, report));
            break;
        case Format::kHtml:
            report.top = options.top.value_or(100);
            fmt::print("{}", report_html(selected, report));
            break;
    }
    return kDone;
}

void add_format(CLI::App& command, ReportCommandOptions& options) {
    using Format = ReportCommandOptions::Format;
    auto* json =
        command.add_flag_callback("--json", [&options] { options.format = Format::kJson; }, "JSON instead of text");
    command
        .add_flag_callback(
            "--html", [&options] { options.format = Format::kHtml; }, "one self-contained HTML file on standard output")
        ->excludes(json);
    command.add_option("--top", options.top, "rows per table; 0: all (default: 25, with --json all, with --html 100)")
        ->check(a_count());
    command.add_option("--width", options.width, "columns of text; 0: lines are not cut (default: the terminal's)")
        ->check(a_count());
}

void add_contents(CLI::App& command, ReportOptions& report) {
    command.add_flag_callback(
        "--idle", [&report] { report.idle = analyzer::IdleRows::kInclude; },
        "count idle samples in the shares and show their functions");
    command.add_flag_callback(
        "--no-children", [&report] { report.total = ReportOptions::Total::kHide; },
        "only what was sampled in a function itself, without what it called");
    auto* hide = command.add_flag_callback(
        "--no-call-chains", [&report] { report.chains = ReportOptions::Chains::kHide; }, "tables only");
    command
        .add_flag_callback(
            "--call-chains", [&report] { report.chains = ReportOptions::Chains::kShow; },
            "call chains even where most of them end somewhere in between")
        ->excludes(hide);
    command
        .add_option("--percent-limit", report.percent_limit,
                    "leave out rows under this percentage of the event, and call paths under this percentage of "
                    "their function (default: no row, paths under 1)")
        ->check(CLI::Range(0.0, 100.0));
    command.add_option("--focus", report.focus, "only this function (or glob): its callers, itself, and its callees")
        ->option_text("SYMBOL")
        ->excludes("--html");
    command
        .add_option_function<std::string>(
            "--by",
            [&report](const std::string& list) {
                auto keys = analyzer::parse_group_keys(list);
                if (!keys) throw CLI::ValidationError("--by", keys.error().message);
                report.by = std::move(*keys);
            },
            "table by these keys, one inside the other: comm, pid, tid, cpu, dso, symbol, unit, srcline")
        ->option_text("KEY[,KEY…]");
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<ReportCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "report", "Where the CPU time went: of a window of the running daemon, or of a file that holds a profile");
    add_socket(command, options.socket);
    add_store(command, options.socket);
    auto* source = add_source(command, options.source);
    add_span(command, options.span, source);
    add_format(command, options);
    add_contents(command, options.report);
    add_selection(command, options.selection);
    command.callback([shared, &exit_code] { exit_code = run_report(*shared); });
}

}  // namespace perfvigil::cli
