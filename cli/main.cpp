// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil: words of the command line into options, options to a command.
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "config/values.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {

int complain(const Error& error, int code) {
    fmt::print(stderr, "perfvigil: {}\n", escape(error.message));
    return code;
}

std::size_t output_width() {
    winsize size{};
    if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

namespace {

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

void add_json(CLI::App& command, OutputFormat& format) {
    command.add_flag_callback("--json", [&format] { format = OutputFormat::kJson; }, "JSON instead of text");
}

void add_socket(CLI::App& command, std::string& socket) {
    socket = protocol::kDefaultControlSocket;
    command.add_option("--socket", socket, "the daemon's control socket")
        ->envname("PERFVIGIL_SOCKET")
        ->capture_default_str();
}

CLI::App& add_status(CLI::App& app, StatusOptions& options) {
    auto& command = *app.add_subcommand("status", "How the daemon is: state, events, what it has to do without");
    add_socket(command, options.socket);
    add_json(command, options.format);
    return command;
}

CLI::App& add_report(CLI::App& app, ReportCommandOptions& options) {
    auto& command = *app.add_subcommand(
        "report", "Where the CPU time went: of a window of the running daemon, or of a perf.data file");
    add_socket(command, options.socket);
    add_json(command, options.format);
    command.add_option("source", options.source, "'latest', a window's id, or a file ('-': standard input)")
        ->capture_default_str();
    command.add_option("--top", options.top, "rows per table; 0: all (default: 25, with --json all)");
    command.add_flag("--idle", options.idle, "count idle samples in the shares and show their functions");
    return command;
}

CLI::App& add_record(CLI::App& app, RecordCommandOptions& options) {
    auto& command = *app.add_subcommand("record", "Record without a daemon, into a file that perf reads too");
    command.footer(
        "Without -p, -t or a command the whole host is recorded (-a). Ends after -d, with the command, or at "
        "Ctrl-C; what was recorded is kept.\n"
        "  perfvigil record -o host.perf.data -d 10s\n"
        "  perfvigil record -o app.perf.data -F 999 -- ./app --input x");
    add_json(command, options.format);
    command.add_option("-o,--output", options.output,
                       "file to write; without it the report is printed and nothing kept");
    command.add_flag("-a,--all-cpus", options.all_cpus, "the whole host");
    command.add_option("-p,--pid", options.pids, "processes, with all their threads and later children")
        ->delimiter(',');
    command.add_option("-t,--tid", options.tids, "single threads")->delimiter(',');
    add_value(command, "-C,--cpu", config::CpusFormat{}, options.cpus, "CPUs, like 0-3,8 (default: all online)");
    add_value(command, "-d,--duration", config::DurationFormat{.min = std::chrono::milliseconds(1)}, options.duration,
              "how long: 10s, 500ms, 2min");
    command.add_option("-F,--freq", options.frequency, "samples per second, per event and CPU")
        ->capture_default_str()
        ->check(CLI::Range(1U, 100000U));
    command.add_option("-e,--event", options.events, "events (default: cycles,cpu-clock)")->delimiter(',');
    add_value(command, "-m,--ring", config::BytesFormat{.min = 4096, .max = 1U << 30}, options.ring_bytes,
              "ring buffer for samples, per CPU: 512KiB, 4MiB");
    command.add_option("--max-stack", options.max_stack, "frames per call chain")->capture_default_str();
    command.add_flag("!--no-call-chains", options.call_chains, "record the sampled instruction only");
    command.add_option("-z,--compression", options.compression, "zstd level, 0: none")
        ->capture_default_str()
        ->check(CLI::Range(0, 19));
    command.add_option("command", options.command, "program to run and record, after --");
    return command;
}

int main(int argc, char** argv) {
    CLI::App app("Finds out where the CPU time of a Linux host goes.", "perfvigil");
    app.set_version_flag("--version", "perfvigil " PERFVIGIL_VERSION);
    app.require_subcommand(1);
    StatusOptions status;
    ReportCommandOptions report;
    RecordCommandOptions record;
    const auto& status_command = add_status(app, status);
    const auto& report_command = add_report(app, report);
    const auto& record_command = add_record(app, record);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error);
        return code == 0 ? kDone : kUsage;
    }
    if (status_command.parsed()) return run_status(status);
    if (report_command.parsed()) return run_report(report);
    if (record_command.parsed()) return run_record(record);
    return kUsage;
}

}  // namespace
}  // namespace perfvigil::cli

int main(int argc, char** argv) { return perfvigil::cli::main(argc, argv); }
