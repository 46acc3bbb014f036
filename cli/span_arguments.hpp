// SPDX-License-Identifier: GPL-2.0-or-later
// --since and --until of commands that read what the daemon keeps.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "analyzer/input/load.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::cli {

struct SpanArguments {
    std::string since;  // empty: not asked for
    std::string until;
};

// `source`: the argument that they exclude; null.
void add_span(CLI::App& command, SpanArguments& span, CLI::Option* source);

// Of the span, or else of `source`.
[[nodiscard]] Result<analyzer::Profile> profile_of_arguments(const SpanArguments& span, const std::string& source,
                                                             const std::string& socket,
                                                             const analyzer::LoadOptions& load);

}  // namespace perfvigil::cli
