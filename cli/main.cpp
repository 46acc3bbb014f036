// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil: words of the command line into options, options to a command.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace perfvigil::cli {

namespace {

int main(int argc, char** argv) {
    CLI::App app("Finds out where the CPU time of a Linux host goes.", "perfvigil");
    app.set_version_flag("--version", "perfvigil " PERFVIGIL_VERSION);
    app.require_subcommand(1);
    int exit_code = kUsage;
    add_status(app, exit_code);
    add_report(app, exit_code);
    add_diff(app, exit_code);
    add_record(app, exit_code);
    add_export(app, exit_code);
    add_annotate(app, exit_code);
    add_doctor(app, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error);
        return code == 0 ? kDone : kUsage;
    }
    return exit_code;
}

}  // namespace
}  // namespace perfvigil::cli

int main(int argc, char** argv) { return perfvigil::cli::main(argc, argv); }
