// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil: words of the command line into options, options to a command.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/edit_distance.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"

namespace perfvigil::cli {

namespace {

// What is wrong with the first word, where it should be a command; empty: nothing.
std::string fault_of_command(const CLI::App& app, std::string_view word) {
    constexpr std::size_t kLongest = 40;
    if (word.starts_with('-')) return {};
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    if (std::ranges::find(names, word) != names.end()) return {};
    if (word.empty()) return fmt::format("a command is missing: {}", fmt::join(names, ", "));
    const auto distance = [&](const std::string& name) { return edit_distance(name, word.substr(0, kLongest)); };
    const auto nearest = std::ranges::min(names, {}, distance);
    const auto guess = distance(nearest) <= 2 ? fmt::format("did you mean {}?", nearest)
                                              : fmt::format("there are {}", fmt::join(names, ", "));
    return fmt::format("no command '{}'; {}", word, guess);
}

std::string failure(const CLI::App* app, const CLI::Error& error) {
    const auto commands = app->get_subcommands();
    return fmt::format("perfvigil: {}\nperfvigil {}--help says what there is.\n", escape(error.what()),
                       commands.empty() ? "" : commands.front()->get_name() + ' ');
}

int main(int argc, char** argv) {
    CLI::App app("Finds out where the CPU time of a Linux host goes.", "perfvigil");
    app.set_version_flag("--version", "perfvigil " PERFVIGIL_VERSION);
    app.require_subcommand(1);
    int exit_code = kUsage;
    add_status(app, exit_code);
    add_report(app, exit_code);
    add_diff(app, exit_code);
    add_record(app, exit_code);
    add_capture(app, exit_code);
    add_freeze(app, exit_code);
    add_export(app, exit_code);
    add_annotate(app, exit_code);
    add_doctor(app, exit_code);
    add_kallsyms(app, exit_code);
    add_bundle(app, exit_code);
    add_windows(app, exit_code);
    add_top(app, exit_code);
    add_web(app, exit_code);
    app.failure_message(failure);
    if (auto fault = fault_of_command(app, argc > 1 ? argv[1] : ""); !fault.empty()) {
        return complain({ErrorCode::kInvalid, 0, std::move(fault)}, kUsage);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error);
        return code == 0 ? kDone : kUsage;
    } catch (const std::system_error& error) {  // fmt::print, where the disk is full
        return complain({ErrorCode::kIo, error.code().value(), error.what()});
    }
    if (std::fflush(stdout) == 0) return exit_code;
    return complain(
        {ErrorCode::kIo, errno, "cannot write to standard output: " + std::generic_category().message(errno)});
}

}  // namespace
}  // namespace perfvigil::cli

int main(int argc, char** argv) { return perfvigil::cli::main(argc, argv); }
