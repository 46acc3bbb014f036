// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil kallsyms: the copy of /proc/kallsyms that stock perf needs for this kernel's modules.
#include <sys/utsname.h>

#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "analyzer/symbols/kallsyms_copy.hpp"
#include "analyzer/symbols/module_layout.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"

namespace perfvigil::cli {
namespace {

struct KallsymsOptions {
    bool stripped = false;
    bool full = false;
    std::string output;
};

analyzer::KallsymsForm form_of(const KallsymsOptions& options) {
    if (options.full) return analyzer::KallsymsForm::kFull;
    if (options.stripped) return analyzer::KallsymsForm::kStripped;
    utsname names{};
    (void)::uname(&names);
    analyzer::SymbolChild child({}, system_clock());
    const auto verdict = analyzer::judge_module_layout(child, names.release);
    const bool full = verdict.form == analyzer::KallsymsForm::kFull;
    fmt::print(stderr, "perfvigil: {}: {}\n", full ? "full" : "stripped", verdict.evidence);
    return verdict.form;
}

int run_kallsyms(const KallsymsOptions& options) {
    if (base_name(options.output) == "kallsyms") {
        return complain(
            {ErrorCode::kInvalid, 0,
             options.output + ": give the file another name: beside one that is called kallsyms perf looks for "
                              "a kcore, and then shows every module as the kernel"},
            kUsage);
    }
    const auto form = form_of(options);
    const auto copy = analyzer::copy_kallsyms(form);
    if (!copy) return complain(copy.error());
    const auto written = write_output(options.output, *copy);
    if (!written) return complain(written.error());
    if (form == analyzer::KallsymsForm::kFull) {
        fmt::print(
            stderr,
            "perfvigil: perf takes a module's own file first, wherever it finds it: where this kernel's modules are "
            "installed add --symfs=/an/empty/folder, and read user code without it.\n");
    }
    return kDone;
}

}  // namespace

void add_kallsyms(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<KallsymsOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "kallsyms", "This kernel's symbols in the form that stock perf needs (perf report --kallsyms=FILE)");
    auto* stripped = command.add_flag("--stripped", options.stripped,
                                      "the kernel's own alone; perf names modules by their .ko files, with sizes");
    command
        .add_flag("--full", options.full,
                  "with those of modules by address: right whatever their layout (default: by this kernel's modules)")
        ->excludes(stripped);
    command.add_option("-o,--output", options.output, "file to write (default: standard output)")->option_text("FILE");
    command.callback([shared, &exit_code] { exit_code = run_kallsyms(*shared); });
}

}  // namespace perfvigil::cli
