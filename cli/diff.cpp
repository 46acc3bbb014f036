// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/diff.hpp"
#include "analyzer/diff/conditions.hpp"
#include "analyzer/diff/flamegraph.hpp"
#include "analyzer/diff/report.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/diff_sides.hpp"
#include "cli/selection_arguments.hpp"

namespace perfvigil::cli {
namespace {

// Fine enough for a capture of a second to have slices to vary between.
constexpr Nanoseconds kPart = std::chrono::milliseconds(100);

struct DiffCommandOptions {
    std::string socket;
    std::string before;
    std::string after;
    OutputFormat format = OutputFormat::kText;
    SelectionArguments selection;
    analyzer::DiffOptions diff;
    std::optional<std::size_t> top;  // default: 25 rows as text, everything as JSON
    std::string flamegraph;
    std::optional<analyzer::DiffRule> fail_on;
};

Result<analyzer::Profile> selected_side(const std::string& source, const DiffCommandOptions& options) {
    auto side = side_from(source, options.socket, options.selection.load);
    if (!side || options.selection.names.empty()) return side;
    return analyzer::select(std::move(*side), options.selection.names);
}

Result<void> write_flamegraph(const DiffCommandOptions& options, const analyzer::Profile& before,
                              const analyzer::Profile& after) {
    const auto plan = plan_comparison(before, after, options.diff);
    if (!plan) return fail(plan.error());
    const auto events = plan->events.front();
    std::ofstream file(options.flamegraph, std::ios::binary | std::ios::trunc);
    file << diff_flamegraph(before, events.before, after, events.after);
    file.close();
    if (!file) return fail_errno(errno, options.flamegraph);
    return {};
}

int judge(const DiffCommandOptions& options, const std::vector<analyzer::Diff>& diffs) {
    if (!options.fail_on) return kDone;
    const auto broken = broken_by(*options.fail_on, diffs);
    for (const auto& sentence : broken) fmt::print(stderr, "perfvigil: {}\n", sentence);
    return broken.empty() ? kDone : kRuleBroken;
}

int run_diff(const DiffCommandOptions& options) {
    const auto before = selected_side(options.before, options);
    if (!before) return complain(before.error());
    const auto after = selected_side(options.after, options);
    if (!after) return complain(after.error());
    const auto diffs = compare(*before, *after, options.diff);
    if (!diffs) return complain(diffs.error());
    if (!options.flamegraph.empty()) {
        if (const auto written = write_flamegraph(options, *before, *after); !written) return complain(written.error());
    }
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}", diff_json(*diffs, {.top = options.top.value_or(0), .width = 0}));
    } else {
        fmt::print("{}", diff_text(*diffs, {.top = options.top.value_or(analyzer::DiffReportOptions{}.top),
                                            .width = output_width()}));
    }
    return judge(options, *diffs);
}

void add_questions(CLI::App& command, DiffCommandOptions& options) {
    using analyzer::DiffBy;
    command.add_flag_callback(
        "--total", [&options] { options.diff.by = DiffBy::kTotal; },
        "functions with what they call, and those whose callees changed places");
    command
        .add_option_function<std::string>(
            "--by",
            [&options](const std::string& name) {
                for (const auto by : {DiffBy::kFunction, DiffBy::kTotal, DiffBy::kDso, DiffBy::kComm, DiffBy::kUnit,
                                      DiffBy::kContainer}) {
                    if (analyzer::diff_by_name(by) == name) options.diff.by = by;
                }
            },
            "what is compared: function (default), total, dso, comm, unit or container")
        ->check(one_of({"function", "total", "dso", "comm", "unit", "container"}))
        ->option_text("WHAT");
    command
        .add_option_function<std::string>(
            "--measure",
            [&options](const std::string& name) {
                options.diff.measure =
                    name == "absolute" ? analyzer::DiffMeasure::kAbsolute : analyzer::DiffMeasure::kShare;
            },
            "which change is judged: share (default), or absolute: CPU seconds per second")
        ->check(one_of({"share", "absolute"}))
        ->option_text("MEASURE");
    command.add_flag_callback(
        "--force", [&options] { options.diff.caution = analyzer::DiffCaution::kForce; },
        "compare what should not be compared: another event or unit, lost samples");
}

}  // namespace

void add_diff(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<DiffCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("diff", "What changed between two recordings, and what of it may be chance");
    add_socket(command, options.socket);
    add_json(command, options.format);
    command
        .add_option("before", options.before,
                    "a file ('-': standard input), a window ('latest' or its id), windows FROM..TO, or a comma list")
        ->required();
    command.add_option("after", options.after, "the same of the other side")->required();
    add_questions(command, options);
    command.add_option("--top", options.top, "rows per table; 0: all (default: 25, with --json all)")->check(a_count());
    command.add_option("--flamegraph", options.flamegraph, "write a flame graph: red is more, blue is less")
        ->option_text("FILE.svg");
    command
        .add_option_function<std::string>(
            "--fail-on",
            [&options](const std::string& text) {
                const auto rule = analyzer::parse_diff_rule(text);
                if (!rule) throw CLI::ValidationError("--fail-on", rule.error().message);
                options.fail_on = *rule;
            },
            "exit with 3 when a significant change breaks the rule: regression>2% (points of share)")
        ->option_text("RULE");
    options.selection.load.moment = kPart;
    add_selection(command, options.selection);
    command.callback([shared, &exit_code] {
        shared->diff.event_named = !shared->selection.names.events.empty();
        exit_code = run_diff(*shared);
    });
}

}  // namespace perfvigil::cli
