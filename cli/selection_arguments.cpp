// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/selection_arguments.hpp"

#include <string>
#include <vector>

#include "analyzer/name_pattern.hpp"

namespace perfvigil::cli {
namespace {

constexpr const char* kFilters = "Filters (they compose; NAME: a name or a glob, or a comma list of them)";

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

}  // namespace

void add_selection(CLI::App& command, SelectionArguments& selection) {
    auto& names = selection.names;
    add_list(command, "--event", names.events, "samples of these events");
    add_list(command, "--comm", names.comms, "of threads of this name");
    add_list(command, "--dso", names.dsos, "sampled in this program, library or module: its path, or its last part");
    add_list(command, "--symbol", names.symbols, "sampled in this function");
    add_list(command, "--parent", names.parents, "with this function among the callers");
    add_list(command, "--unit", names.units, "of this systemd unit");
}

}  // namespace perfvigil::cli
