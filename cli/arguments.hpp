// SPDX-License-Identifier: GPL-2.0-or-later
// Arguments that several commands take.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace perfvigil::cli {

void add_json(CLI::App& command, OutputFormat& format);
void add_socket(CLI::App& command, std::string& socket);

// Refuses other words, and lists these.
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);
// Refuses what is negative: CLI11 would take it for a huge number.
[[nodiscard]] CLI::Validator a_count();

// An option written as in the configuration file, and refused with the same words.
template <class Format, class Target>
CLI::Option* add_value(CLI::App& command, const std::string& names, const Format& format, Target& target,
                       const std::string& description) {
    return command.add_option_function<std::string>(
        names,
        [&target, format, names](const std::string& text) {
            auto parsed = format.parse(text);
            if (!parsed) {
                const auto& [why, suggestion] = parsed.error();
                throw CLI::ValidationError(names, suggestion.empty() ? why : why + "; " + suggestion);
            }
            target = std::move(*parsed);
        },
        description);
}

}  // namespace perfvigil::cli
