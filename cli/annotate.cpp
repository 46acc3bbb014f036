// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "analyzer/annotation.hpp"
#include "analyzer/bundle/open_capture.hpp"
#include "analyzer/function_code.hpp"
#include "analyzer/observation_warnings.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/disassembly.hpp"
#include "cli/selection_arguments.hpp"

namespace perfvigil::cli {
namespace {

struct AnnotateOptions {
    std::string file;
    analyzer::CodeRequest request;
    analyzer::LoadOptions load;
    analyzer::AnnotationOptions text;
    std::optional<std::size_t> width;
    OutputFormat format = OutputFormat::kText;
};

analyzer::Annotation annotation_of(analyzer::FunctionCode& found, const std::string& event) {
    std::vector<analyzer::Instruction> code;
    if (!found.code.empty()) {
        auto read = disassemble(found.code, found.function.start + found.shift,
                                {.machine = found.machine, .big_endian = found.big_endian, .wide = found.wide});
        if (read)
            code = std::move(*read);
        else
            found.notes.push_back("Its code cannot be shown: " + read.error().message + ".");
    }
    auto made = analyzer::annotate(found.function, event, code, found.lines ? &*found.lines : nullptr, found.shift);
    made.notes = found.notes;
    return made;
}

// Names that hold the wanted one, most samples first: what may have been meant.
std::string nearest(const analyzer::Profile& profile, const std::string& event, const std::string& symbol) {
    const auto at = std::ranges::find(profile.events, event, &analyzer::ProfileEvent::name);
    if (at == profile.events.end()) return {};
    constexpr std::size_t kNamed = 5;
    std::string names;
    std::size_t count = 0;
    const auto number = static_cast<std::uint32_t>(at - profile.events.begin());
    for (const auto& row : analyzer::function_totals(profile, number, analyzer::IdleRows::kInclude)) {
        const auto& name = profile.functions[row.function].name;
        if (row.self_samples == 0 || name.find(symbol) == std::string::npos) continue;
        names += (count == 0 ? "" : ", ") + name;
        if (++count == kNamed) break;
    }
    return names;
}

int run_annotate(AnnotateOptions& options) {
    auto opened = analyzer::open_capture(options.file);
    if (!opened) return complain(opened.error());
    for (const auto& warning : opened->warnings) fmt::print(stderr, "perfvigil: {}\n", escape(warning));
    const analyzer::CaptureOptions capture{.samples = options.load.samples,
                                           .symbols = options.load.symbols,
                                           .split_hybrid = options.load.split_hybrid,
                                           .evidence = opened->evidence};
    auto found = analyzer::function_codes(*opened->reader, options.request, capture, system_clock());
    if (!found) return complain(found.error());
    for (const auto& warning : warnings_of(found->profile)) fmt::print(stderr, "perfvigil: {}\n", escape(warning));
    if (found->functions.empty()) {
        const auto names = nearest(found->profile, found->event, options.request.symbol);
        return complain({ErrorCode::kNotFound, 0,
                         fmt::format("{}: no sample{} was taken in a function called '{}'{}", options.file,
                                     found->event.empty() ? "" : " of " + found->event, options.request.symbol,
                                     names.empty() ? "" : "; there are: " + names)});
    }
    std::vector<analyzer::Annotation> annotations;
    for (auto& function : found->functions) annotations.push_back(annotation_of(function, found->event));
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}", annotation_json(annotations));
        return kDone;
    }
    options.text.width = options.width.value_or(output_width());
    for (std::size_t i = 0; i < annotations.size(); ++i) {
        fmt::print("{}{}", i == 0 ? "" : "\n", annotation_text(annotations[i], options.text));
    }
    return kDone;
}

}  // namespace

void add_annotate(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<AnnotateOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "annotate", "One function of a perf.data file, instruction by instruction and line by line");
    command.add_option("symbol", options.request.symbol, "the function, as reports show it")->required();
    command.add_option("file", options.file, "the perf.data file ('-': standard input)")->required();
    add_json(command, options.format);
    command.add_option("--event", options.request.event, "samples of this event (default: the first that has any)");
    command.add_option("--dso", options.request.dso, "only the function in this program, library or module");
    command.add_option("--context", options.text.context, "instructions shown around one that was sampled")
        ->capture_default_str();
    command.add_option("--width", options.width, "columns of text; 0: lines are not cut (default: the terminal's)")
        ->check(a_count());
    add_load(command, options.load);
    command.callback([shared, &exit_code] { exit_code = run_annotate(*shared); });
}

}  // namespace perfvigil::cli
