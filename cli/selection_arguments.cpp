// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/selection_arguments.hpp"

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/name_pattern.hpp"
#include "analyzer/sample_selection.hpp"
#include "base/text.hpp"

namespace perfvigil::cli {
namespace {

constexpr const char* kFilters = "Filters (they compose; NAME: a name or a glob, or a comma list of them)";
constexpr const char* kWanted = "true";  // what CLI11 says of a switch without a value
constexpr const char* kModules = "modules";
constexpr const char* kReading = "How a file is read";

// One value each time the option is given: a file may follow it.
void add_list(CLI::App& command, const std::string& option, std::vector<std::string>& patterns,
              const std::string& description) {
    command
        .add_option_function<std::vector<std::string>>(
            option,
            [&patterns, option](const std::vector<std::string>& lists) {
                for (const auto& list : lists) {
                    const auto before = patterns.size();
                    analyzer::add_patterns(patterns, list);
                    if (patterns.size() == before) throw CLI::ValidationError(option, "an empty name selects nothing");
                }
            },
            description)
        ->allow_extra_args(false)
        ->option_text("NAME")
        ->group(kFilters);
}

// "5" or "0-3".
template <class Id>
bool add_range(std::vector<Id>& ids, std::string_view text) {
    constexpr std::int64_t kMost = 1 << 16;
    const auto dash = text.find('-', 1);
    const auto first = parse_number<std::int64_t>(trim(text.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : parse_number<std::int64_t>(trim(text.substr(dash + 1)));
    constexpr std::int64_t kLargest = std::numeric_limits<typename Id::rep>::max();
    if (!first || !last || *first > *last || *last - *first >= kMost || *last > kLargest) return false;
    if (*first < std::int64_t{std::numeric_limits<typename Id::rep>::min()}) return false;
    for (auto id = *first; id <= *last; ++id) ids.push_back(Id{static_cast<typename Id::rep>(id)});
    return true;
}

template <class Id>
void add_ids(CLI::App& command, const std::string& option, std::vector<Id>& ids, const std::string& description) {
    command
        .add_option_function<std::vector<std::string>>(
            option,
            [&ids, option](const std::vector<std::string>& lists) {
                for (const auto& list : lists) {
                    for (const auto piece : split(list, ',')) {
                        if (add_range(ids, piece)) continue;
                        throw CLI::ValidationError(option, "'" + escape(piece) + "' is no number, nor a range as 0-3");
                    }
                }
            },
            description)
        ->allow_extra_args(false)
        ->option_text("N[-M][,N…]")
        ->group(kFilters);
}

void add_samples(CLI::App& command, analyzer::SampleSelection& samples) {
    command
        .add_option_function<std::string>(
            "--time",
            [&samples](const std::string& text) {
                auto range = analyzer::parse_time_range(text);
                if (!range) throw CLI::ValidationError("--time", range.error().message);
                samples.time = *range;
            },
            "of this stretch of a file, counted from its first sample: 10s..20s, 5%..50%, 2m..")
        ->option_text("FROM..TO")
        ->group(kFilters);
    add_ids(command, "--cpu", samples.cpus, "on these CPUs (files only)");
    add_ids(command, "--pid", samples.pids, "of these processes (files only)");
    add_ids(command, "--tid", samples.tids, "of these threads (files only)");
}

constexpr std::chrono::minutes kDebuginfodWait{5};  // for all files of one command

void add_reading(CLI::App& command, analyzer::LoadOptions& load) {
    command.add_option("--symfs", load.symbols.symfs, "folder with the recording host's files under their own paths")
        ->option_text("DIR")
        ->group(kReading);
    command.add_option("--vmlinux", load.symbols.vmlinux, "the recording kernel's image or debug file (its build-id)")
        ->option_text("FILE")
        ->group(kReading);
    command.add_option("--kallsyms", load.symbols.kallsyms, "the recording kernel's /proc/kallsyms or System.map")
        ->option_text("FILE")
        ->group(kReading);
    command.add_option("--buildid-dir", load.symbols.buildid_dir, "perf's build-id cache (default: ~/.debug)")
        ->option_text("DIR")
        ->group(kReading);
    command
        .add_option_function<std::vector<std::string>>(
            "--debuginfod",
            [&load](const std::vector<std::string>& urls) {
                load.symbols.debuginfod.urls = urls;
                load.symbols.debuginfod.wait = kDebuginfodWait;
            },
            "debuginfod server to ask for files that are not here, by build-id; several are asked in turn")
        ->allow_extra_args(false)
        ->option_text("URL")
        ->group(kReading);
    command.add_flag("--split-hybrid", load.split_hybrid, "each kind of core's events apart, not summed")
        ->group(kReading);
}

// A switch that takes "modules" behind '=': a file may follow it without one.
void add_scoped(CLI::App& command, const std::string& option, bool& wanted, bool& in_modules,
                const std::string& description) {
    command.add_flag(option, description)
        ->each([&wanted, &in_modules](const std::string& value) {
            if (value != kWanted && value != kModules) {
                throw CLI::ValidationError("takes no value but 'modules'");
            }
            wanted = true;
            in_modules = value == kModules;
        })
        ->group(kReading);
}

void add_debug_information(CLI::App& command, analyzer::SampleSelection& samples) {
    add_scoped(command, "--inline", samples.inlined, samples.module_inlined,
               "calls that the compiler inlined as functions of their own (files); of the kernel where its vmlinux has "
               "debug information, of its modules only with --inline=modules: chains that seem to pass through "
               "functions which were never called are the commonest way to misread a module");
    add_scoped(command, "--srcline", samples.lines, samples.module_lines,
               "each function with its source line, and apart by it (files); in kernel modules only with "
               "--srcline=modules");
}

void add_input_format(CLI::App& command, std::optional<analyzer::InputFormat>& format) {
    constexpr const char* kOption = "--input-format";
    command
        .add_option_function<std::string>(
            kOption,
            [&format](const std::string& name) {
                format = analyzer::parse_input_format(name);
                if (!format) throw CLI::ValidationError(kOption, "one of " + analyzer::input_format_names());
            },
            "what the file is, instead of what its content says: " + analyzer::input_format_names())
        ->option_text("KIND")
        ->group(kReading);
}

}  // namespace

void add_selection(CLI::App& command, SelectionArguments& selection) {
    auto& names = selection.names;
    add_list(command, "--event", names.events, "samples of these events");
    add_list(command, "--comm", names.comms, "of threads of this name");
    add_list(command, "--dso", names.dsos, "sampled in this program, library or module: its path, or its last part");
    add_list(command, "--symbol", names.symbols, "sampled in this function");
    add_list(command, "--parent", names.parents, "with this function among the callers");
    add_list(command, "--unit", names.units, "of this systemd unit");
    add_load(command, selection.load);
    add_debug_information(command, selection.load.samples);
    add_input_format(command, selection.load.format);
}

void add_load(CLI::App& command, analyzer::LoadOptions& load) {
    add_samples(command, load.samples);
    add_reading(command, load);
}

}  // namespace perfvigil::cli
