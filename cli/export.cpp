// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil export: one profile in another program's format.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "analyzer/chain_ends.hpp"
#include "analyzer/export/event_choice.hpp"
#include "analyzer/export/event_flamegraph.hpp"
#include "analyzer/export/folded.hpp"
#include "analyzer/export/otlp.hpp"
#include "analyzer/export/pprof.hpp"
#include "analyzer/export/speedscope.hpp"
#include "analyzer/export/stacks_json.hpp"
#include "analyzer/observation_warnings.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/profile_source.hpp"
#include "cli/selection_arguments.hpp"
#include "cli/store_folder.hpp"

namespace perfvigil::cli {
namespace {

using analyzer::IdleRows;
using analyzer::Profile;

enum class ExportFormat : std::uint8_t { kPprof, kFolded, kFlamegraphSvg, kFlamegraphHtml, kSpeedscope, kJson, kOtlp };
constexpr auto kFormats =
    std::to_array<std::pair<std::string_view, ExportFormat>>({{"pprof", ExportFormat::kPprof},
                                                              {"folded", ExportFormat::kFolded},
                                                              {"flamegraph.svg", ExportFormat::kFlamegraphSvg},
                                                              {"flamegraph.html", ExportFormat::kFlamegraphHtml},
                                                              {"speedscope", ExportFormat::kSpeedscope},
                                                              {"json", ExportFormat::kJson},
                                                              {"otlp", ExportFormat::kOtlp}});

struct ExportCommandOptions {
    std::string socket;
    std::string source;
    ExportFormat format = ExportFormat::kFolded;
    std::string output;  // empty: standard output
    SelectionArguments selection;
    bool idle = false;
    bool samples = false;
    bool mark_kernel = false;
    bool icicle = false;
    double narrowest = analyzer::EventFlamegraphOptions{}.narrowest;
};

bool takes_one_event(ExportFormat format) {
    return format == ExportFormat::kPprof || format == ExportFormat::kFolded || format == ExportFormat::kFlamegraphSvg;
}
bool is_binary(ExportFormat format) { return format == ExportFormat::kPprof || format == ExportFormat::kOtlp; }

// The chosen one first; formats that hold several events get the others with samples behind it.
std::vector<std::uint32_t> events_of(const Profile& profile, const ExportCommandOptions& options,
                                     const analyzer::EventChoice& choice) {
    std::vector<std::uint32_t> events{choice.event};
    if (takes_one_event(options.format)) return events;
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        if (i != choice.event && profile.events[i].samples > 0) events.push_back(i);
    }
    return events;
}

std::string exported(const Profile& plain, const std::vector<std::uint32_t>& events,
                     const ExportCommandOptions& options) {
    // Stacks without their outer callers must not pass for whole ones.
    const Profile profile = with_marked_ends(plain, analyzer::MarkedEnds::kUnrooted);
    const IdleRows idle = options.idle ? IdleRows::kInclude : IdleRows::kExclude;
    const std::uint32_t event = events.front();
    const analyzer::EventFlamegraphOptions picture{
        .idle = idle,
        .growth = options.icicle ? analyzer::FlamegraphGrowth::kDown : analyzer::FlamegraphGrowth::kUp,
        .narrowest = options.narrowest};
    switch (options.format) {
        case ExportFormat::kPprof: return analyzer::pprof(profile, event, idle);
        case ExportFormat::kFolded: {
            using Value = analyzer::FoldedOptions::Value;
            return analyzer::folded(profile, event,
                                    {.idle = idle,
                                     .value = options.samples ? Value::kSamples : Value::kWeight,
                                     .mark_kernel = options.mark_kernel});
        }
        case ExportFormat::kFlamegraphSvg: return analyzer::event_flamegraph_file(profile, event, picture);
        case ExportFormat::kFlamegraphHtml: return analyzer::flamegraph_page(profile, events, picture);
        case ExportFormat::kSpeedscope: return analyzer::speedscope(profile, events, idle);
        case ExportFormat::kJson: return analyzer::stacks_json(profile, events, idle);
        case ExportFormat::kOtlp: break;
    }
    return analyzer::otlp(profile, events, idle);
}

void say(const Profile& profile, const ExportCommandOptions& options, const analyzer::EventChoice& choice) {
    if (choice.others.empty() || !takes_one_event(options.format)) return;
    fmt::print(stderr, "perfvigil: event {} is exported; --event names another: {}\n",
               escape(profile.events[choice.event].name), escape(fmt::format("{}", fmt::join(choice.others, ", "))));
}

int run_export(const ExportCommandOptions& options) {
    if (options.output.empty() && is_binary(options.format) && ::isatty(STDOUT_FILENO) == 1) {
        return complain({ErrorCode::kInvalid, 0, "this format is not for a terminal: name a file with -o"}, kUsage);
    }
    auto read = profile_from(options.source, options.socket, options.selection.load);
    if (!read) return complain(read.error());
    const Profile profile = analyzer::select(std::move(*read), options.selection.names);
    for (const auto& warning : warnings_of(profile)) fmt::print(stderr, "perfvigil: {}\n", escape(warning));
    const auto choice = choose_event(profile, {});
    if (!choice) return complain(choice.error());
    say(profile, options, *choice);
    const auto bytes = exported(profile, events_of(profile, options, *choice), options);
    if (auto written = write_output(options.output, bytes); !written) return complain(written.error());
    return kDone;
}

// pid, tid and cpu as labels: only a capture's samples know them, and stacks stay apart by them.
void add_labels(CLI::App& command, analyzer::SampleSelection& samples) {
    command
        .add_option_function<std::vector<std::string>>(
            "--by",
            [&samples](const std::vector<std::string>& keys) {
                for (const auto& key : keys) {
                    samples.by_pid |= key == "pid";
                    samples.by_tid |= key == "tid";
                    samples.by_cpu |= key == "cpu";
                }
            },
            "pprof, json, otlp, of captures: label samples with pid, tid, cpu")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(one_of({"pid", "tid", "cpu"}))
        ->option_text("KEY[,KEY…]");
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<ExportCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "export", "A window or a capture for other programs: pprof, flame graph, collapsed stacks, speedscope …");
    add_socket(command, options.socket);
    add_store(command, options.socket);
    add_source(command, options.source);
    std::vector<std::string> names;
    for (const auto& [name, format] : kFormats) names.emplace_back(name);
    command
        .add_option_function<std::string>(
            "--to",
            [&options](const std::string& wanted) {
                options.format =
                    std::ranges::find(kFormats, wanted, &std::pair<std::string_view, ExportFormat>::first)->second;
            },
            "pprof, folded, flamegraph.svg, flamegraph.html, speedscope, json or otlp (docs/exports.md)")
        ->required()
        ->check(one_of(std::move(names)))
        ->option_text("FORMAT");
    command.add_option("-o,--output", options.output, "the file to write; standard output when not given");
    command.add_flag("--idle", options.idle, "with the samples of idle CPUs");
    command.add_flag("--samples", options.samples, "folded: count samples instead of nanoseconds or cycles");
    command.add_flag("--mark-kernel", options.mark_kernel, "folded: \"_[k]\" behind the kernel's functions");
    command.add_flag("--icicle", options.icicle, "flame graphs: callers on top");
    command.add_option("--min-width", options.narrowest, "flame graphs: pixels under which frames are drawn as one")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
    add_labels(command, options.selection.load.samples);
    add_selection(command, options.selection);
    command.callback([shared, &exit_code] { exit_code = run_export(*shared); });
}

}  // namespace perfvigil::cli
