// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "analyzer/input/load.hpp"
#include "analyzer/report.hpp"
#include "cli/arguments.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

struct ReportCommandOptions {
    std::string socket;
    std::string source = "latest";  // a window's id, "latest", or a capture file ("-": standard input)
    OutputFormat format = OutputFormat::kText;
    std::optional<std::size_t> top;  // default: 25 rows as text, everything as JSON
    bool idle = false;
};

int report_file(const ReportCommandOptions& options) {
    const auto profile = analyzer::load_profile(options.source, {}, system_clock());
    if (!profile) return complain(profile.error());
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}", report_json(*profile, {.top = options.top.value_or(0)}));
        return kDone;
    }
    fmt::print("{}", report_text(*profile,
                                 {.top = options.top.value_or(analyzer::ReportOptions{}.top),
                                  .width = output_width(),
                                  .idle = options.idle ? analyzer::IdleRows::kInclude : analyzer::IdleRows::kExclude}));
    return kDone;
}

int report_window(const ReportCommandOptions& options) {
    if (!std::ranges::all_of(options.source, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; })) {
        return complain({ErrorCode::kInvalid, 0, options.source + ": neither a file nor the id of a window"}, kUsage);
    }
    const bool json = options.format == OutputFormat::kJson;
    auto target = fmt::format("{}/{}/{}?format={}&idle={}", protocol::kWindows, options.source, protocol::kReport,
                              json ? "json" : "text", options.idle);
    if (!json) target += fmt::format("&width={}", output_width());
    if (options.top) target += fmt::format("&top={}", *options.top);
    const auto reply = get(options.socket, target);
    if (!reply) return complain(reply.error());
    fmt::print("{}", reply->body);
    return kDone;
}

// What no window id can be: a path, or standard input. A file of the working folder wins over a window of its name.
bool names_a_file(const std::string& source) {
    return source == "-" || source.find('/') != std::string::npos || source.find('.') != std::string::npos ||
           ::access(source.c_str(), F_OK) == 0;
}

int run_report(const ReportCommandOptions& options) {
    return names_a_file(options.source) ? report_file(options) : report_window(options);
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<ReportCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "report", "Where the CPU time went: of a window of the running daemon, or of a perf.data file");
    add_socket(command, options.socket);
    add_json(command, options.format);
    command.add_option("source", options.source, "'latest', a window's id, or a file ('-': standard input)")
        ->capture_default_str();
    command.add_option("--top", options.top, "rows per table; 0: all (default: 25, with --json all)");
    command.add_flag("--idle", options.idle, "count idle samples in the shares and show their functions");
    command.callback([shared, &exit_code] { exit_code = run_report(*shared); });
}

}  // namespace perfvigil::cli
