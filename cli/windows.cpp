// SPDX-License-Identifier: GPL-2.0-or-later
#include <memory>

#include <fmt/core.h>

#include "analyzer/text_table.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/store_folder.hpp"
#include "cli/stored_windows.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

struct WindowsOptions {
    std::string socket;
    OutputFormat format = OutputFormat::kText;
    std::string kind = "all";
    std::size_t limit = 100;
};

std::string remarks(const StoredWindow& window) {
    std::string text;
    if (window.parts > 0) text = fmt::format("of {}", window.parts);
    if (window.partial) text += text.empty() ? "partial" : ", partial";
    if (!window.stored) text += text.empty() ? "in memory" : ", in memory";
    return text;
}

int run_windows(const WindowsOptions& options) {
    const auto reply =
        get(options.socket, fmt::format("{}?limit={}&kind={}", protocol::kWindows, options.limit, options.kind));
    if (!reply) return complain(reply.error());
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}\n", trim(reply->body));
        return kDone;
    }
    const auto windows = parse_windows(reply->body);
    if (!windows) return complain(windows.error());
    if (windows->empty()) {
        fmt::print("no window is complete yet\n");
        return kDone;
    }
    using Align = analyzer::TextTable::Align;
    analyzer::TextTable table;
    table.column("id", Align::kLeft)
        .column("kind", Align::kLeft)
        .column("from", Align::kLeft)
        .column("to", Align::kLeft)
        .column("samples", Align::kRight)
        .column("lost", Align::kRight)
        .column("size", Align::kRight)
        .column("", Align::kLeft);
    for (const auto& window : *windows) {
        table.row({escape(window.id), escape(window.kind), local_time(window.start), local_time(window.end),
                   std::to_string(window.samples), std::to_string(window.lost), human_bytes(window.bytes),
                   remarks(window)});
    }
    fmt::print("times are {}\n{}", local_zone(windows->front().end), table.render(output_width()));
    return kDone;
}

}  // namespace

void add_windows(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<WindowsOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("windows", "What the daemon keeps: windows and what they were rolled up into");
    add_socket(command, options.socket);
    add_store(command, options.socket);
    add_json(command, options.format);
    command.add_option("--kind", options.kind, "window, rollup, archive, or all of them (default)")
        ->check(one_of({"window", "rollup", "archive", "all"}));
    command.add_option("--limit", options.limit, "so many, the newest (default: 100, at most 10000)")->check(a_count());
    command.callback([shared, &exit_code] { exit_code = run_windows(*shared); });
}

}  // namespace perfvigil::cli
