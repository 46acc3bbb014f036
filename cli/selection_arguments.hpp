// SPDX-License-Identifier: GPL-2.0-or-later
// What a reader of a profile asks for, as options: the same ones on each command that reads profiles.
#pragma once

#include <CLI/CLI.hpp>

#include "analyzer/input/load.hpp"
#include "analyzer/name_selection.hpp"

namespace perfvigil::cli {

struct SelectionArguments {
    analyzer::NameSelection names;
    analyzer::LoadOptions load;  // what is judged while a file is read, and how it is read
};

// `selection` outlives the parsing. A pattern may be a comma list, an option may be repeated.
void add_selection(CLI::App& command, SelectionArguments& selection);
// The part that is obeyed while a file is read: samples by time, CPU, process and thread, and where symbols come from.
void add_load(CLI::App& command, analyzer::LoadOptions& load);

}  // namespace perfvigil::cli
