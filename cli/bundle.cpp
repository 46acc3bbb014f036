// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil bundle: a capture or a stored window as one file that says the same on any machine, at any time.
#include <memory>
#include <span>
#include <string>

#include <fmt/core.h>

#include "analyzer/bundle/write_bundle.hpp"
#include "analyzer/profile/codec.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/profile_source.hpp"
#include "cli/store_folder.hpp"

namespace perfvigil::cli {
namespace {

struct BundleCommandOptions {
    std::string socket;
    std::string source;
    std::string output;
    analyzer::BundleOptions bundle;
};

int bundle_window(const BundleCommandOptions& options) {
    const auto bytes = stored_window(options.source, options.socket);
    if (!bytes) return complain(bytes.error());
    const auto profile = analyzer::decode_profile(std::as_bytes(std::span(*bytes)));
    if (!profile) return complain(Error(profile.error()).at("window " + options.source));
    if (auto written = write_output(options.output, *bytes); !written) return complain(written.error());
    fmt::print(stderr, "perfvigil: {}: window {}, {}; names, ledgers and the host's facts are in it\n",
               escape(options.output), escape(profile->id), human_bytes(bytes->size()));
    return kDone;
}

int run_bundle(const BundleCommandOptions& options) {
    if (!names_a_file(options.source)) return bundle_window(options);
    const auto made = analyzer::write_bundle(options.source, options.output, options.bundle, system_clock());
    if (!made) return complain(made.error());
    for (const auto& warning : made->warnings) fmt::print(stderr, "perfvigil: {}\n", escape(warning));
    fmt::print(stderr,
               "perfvigil: {}: capture {}, evidence {}: of {} sampled addresses {} have names and {} source lines; the "
               "machine code of {} functions is in it, that of {} is not\n",
               escape(options.output), human_bytes(made->capture_bytes), human_bytes(made->evidence_bytes),
               made->addresses, made->named, made->with_lines, made->functions_with_code, made->functions_without_code);
    return kDone;
}

}  // namespace

void add_bundle(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<BundleCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "bundle", "One file that reports the same anywhere: a capture with its names and lines, or a stored window");
    add_socket(command, options.socket);
    add_store(command, options.socket);
    command.add_option("source", options.source, "a perf.data file ('-': standard input), 'latest', or a window's id")
        ->required();
    command.add_option("-o,--output", options.output, "the file to write")->required()->option_text("FILE");
    command
        .add_option("--symfs", options.bundle.symbols.symfs,
                    "folder with the recording host's files under their own paths")
        ->option_text("DIR");
    command
        .add_option("--kallsyms", options.bundle.symbols.kallsyms,
                    "the recording kernel's /proc/kallsyms or System.map")
        ->option_text("FILE");
    command
        .add_option("--buildid-dir", options.bundle.symbols.buildid_dir, "perf's build-id cache (default: ~/.debug)")
        ->option_text("DIR");
    command
        .add_option("--vmlinux", options.bundle.symbols.vmlinux,
                    "the recording kernel's image or debug file (its build-id)")
        ->option_text("FILE");
    command
        .add_option("--functions", options.bundle.most_functions,
                    "keep the machine code of so many functions, the hottest first")
        ->capture_default_str();
    command.callback([shared, &exit_code] { exit_code = run_bundle(*shared); });
}

}  // namespace perfvigil::cli
