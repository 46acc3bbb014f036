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
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/deploys.hpp"
#include "cli/diff_sides.hpp"
#include "cli/profile_source.hpp"
#include "cli/selection_arguments.hpp"
#include "cli/store_folder.hpp"
#include "cli/stored_windows.hpp"

namespace perfvigil::cli {
namespace {

// Fine enough for a capture of a second to have slices to vary between.
constexpr Nanoseconds kPart = std::chrono::milliseconds(100);
constexpr const char* kByBuild = "build-id";

struct DiffCommandOptions {
    std::string socket;
    std::string before;
    std::string after;
    std::string span_before;  // --before, --after
    std::string span_after;
    bool by_build = false;  // `before` is a unit then
    OutputFormat format = OutputFormat::kText;
    SelectionArguments selection;
    analyzer::DiffOptions diff;
    std::optional<std::size_t> top;  // default: 25 rows as text, everything as JSON
    std::string flamegraph;
    std::optional<analyzer::DiffRule> fail_on;
};

Result<analyzer::Profile> selected(Result<analyzer::Profile> side, const DiffCommandOptions& options) {
    if (!side || options.selection.names.empty()) return side;
    return analyzer::select(std::move(*side), options.selection.names);
}

struct Sides {
    analyzer::Profile before;
    analyzer::Profile after;
};

// Each side by a call, the first one first.
template <class Before, class After>
Result<Sides> both(const Before& before, const After& after, const DiffCommandOptions& options) {
    auto first = selected(before(), options);
    if (!first) return fail(std::move(first.error()));
    auto second = selected(after(), options);
    if (!second) return fail(std::move(second.error()));
    return Sides{std::move(*first), std::move(*second)};
}

Result<Sides> both_spans(const WallSpan& before, const WallSpan& after, const DiffCommandOptions& options) {
    return both([&] { return profile_of(before, options.socket); }, [&] { return profile_of(after, options.socket); },
                options);
}

Result<Sides> around_deploy(const DiffCommandOptions& options) {
    const auto found = find_deploy(options.before, options.socket, system_clock().wall());
    if (!found) return fail(found.error());
    fmt::print(stderr, "perfvigil: {} of {} changed from build {} to {} by {} {}\n", escape(found->program),
               escape(options.before), escape(found->deploy.before), escape(found->deploy.after),
               local_time(found->after.since), local_zone(found->after.since));
    return both_spans(found->before, found->after, options);
}

Result<Sides> sides_of(const DiffCommandOptions& options) {
    const auto& load = options.selection.load;
    const bool spans = !options.span_before.empty();
    if ((spans || options.by_build) && (load.samples.selects() || load.samples.tells_apart())) {
        return fail(windows_have_no_samples(spans ? "--before" : options.before));
    }
    if (options.by_build) return around_deploy(options);
    if (!spans) {
        return both([&] { return side_from(options.before, options.socket, load); },
                    [&] { return side_from(options.after, options.socket, load); }, options);
    }
    const auto now = system_clock().wall();
    const auto before = parse_wall_span(options.span_before, now);
    if (!before) return fail(before.error());
    const auto after = parse_wall_span(options.span_after, now);
    if (!after) return fail(after.error());
    return both_spans(*before, *after, options);
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
    const auto sides = sides_of(options);
    if (!sides) return complain(sides.error());
    const auto& [before, after] = *sides;
    const auto diffs = compare(before, after, options.diff);
    if (!diffs) return complain(diffs.error());
    if (!options.flamegraph.empty()) {
        if (const auto written = write_flamegraph(options, before, after); !written) return complain(written.error());
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
                options.by_build = name == kByBuild;
                for (const auto by : {DiffBy::kFunction, DiffBy::kTotal, DiffBy::kDso, DiffBy::kComm, DiffBy::kUnit,
                                      DiffBy::kContainer}) {
                    if (analyzer::diff_by_name(by) == name) options.diff.by = by;
                }
            },
            "what is compared: function (default), total, dso, comm, unit or container; build-id: functions before and "
            "after the last deploy of the unit that is named in place of the sides")
        ->check(one_of({"function", "total", "dso", "comm", "unit", "container", kByBuild}))
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

void add_sides(CLI::App& command, DiffCommandOptions& options) {
    auto* before = command.add_option(
        "before", options.before,
        "a file ('-': standard input), a window ('latest' or its id), windows FROM..TO, or a comma list");
    auto* after = command.add_option("after", options.after, "the same of the other side");
    auto* span_before =
        command
            .add_option("--before", options.span_before,
                        "what the daemon keeps of this time: 09:00..09:10, '2026-11-29 09:00..2026-11-29 "
                        "10:00', 3h..2h, in this time zone")
            ->option_text("FROM..TO")
            ->excludes(before, after);
    auto* span_after = command.add_option("--after", options.span_after, "the same of the other side")
                           ->option_text("FROM..TO")
                           ->needs(span_before);
    span_before->needs(span_after);
}

// What CLI11 cannot say: which words belong together.
void check_sides(const DiffCommandOptions& options) {
    if (!options.span_before.empty()) return;
    if (options.before.empty()) throw CLI::RequiredError("before, or --before with --after,");
    if (options.by_build && !options.after.empty()) throw CLI::ValidationError("--by build-id", "takes one unit");
    if (!options.by_build && options.after.empty()) throw CLI::RequiredError("after");
}

}  // namespace

void add_diff(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<DiffCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("diff", "What changed between two recordings, and what of it may be chance");
    add_socket(command, options.socket);
    add_store(command, options.socket);
    add_json(command, options.format);
    add_sides(command, options);
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
        check_sides(*shared);
        shared->diff.event_named = !shared->selection.names.events.empty();
        exit_code = run_diff(*shared);
    });
}

}  // namespace perfvigil::cli
