// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil top: on a terminal what happens now, slice by slice; else one page of a stored window.
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/live_page.hpp"
#include "cli/span_arguments.hpp"
#include "cli/store_folder.hpp"
#include "cli/terminal.hpp"
#include "cli/top_page.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

struct TopOptions {
    std::string socket;
    SpanArguments span;
    std::size_t rows = 20;
    bool once = false;
};

bool ends_it(std::string_view keys) {
    constexpr std::string_view kEnds = "qQ\x03\x04";  // Ctrl-C, Ctrl-D
    return keys.find_first_of(kEnds) != std::string_view::npos;
}

int run_live(const TopOptions& options) {
    // What keeps the daemon from answering at all is said without a screen.
    const auto first = get(options.socket, std::string(protocol::kLive));
    if (!first) return complain(first.error());
    LiveView view;
    if (auto taken = view.take(first->body); !taken) return complain(taken.error());
    std::string trouble;
    Result<void> watched;
    {
        std::optional<Terminal> terminal;
        const auto draw = [&] { terminal->draw(view.page(terminal->size(), trouble)); };
        const auto begin = [&]() -> Result<void> {
            auto opened = Terminal::open();
            if (!opened) return fail(std::move(opened.error()));
            terminal.emplace(*std::move(opened));
            draw();
            return {};
        };
        watched =
            watch(options.socket, {.on_start = begin,
                                   .target = [&] { return fmt::format("{}?after={}", protocol::kLive, view.newest()); },
                                   .on_reply =
                                       [&](const Reply& reply) {
                                           const auto taken = view.take(reply.body);
                                           trouble = taken ? std::string() : escape(taken.error().message);
                                           draw();
                                       },
                                   .on_trouble =
                                       [&](const Error& error) {
                                           trouble = escape(error.message);
                                           draw();
                                       },
                                   .on_keys = [&](std::string_view keys) { return !ends_it(keys); },
                                   .on_resize = draw});
    }
    return watched ? kDone : complain(watched.error());
}

int run_top(const TopOptions& options) {
    if (!options.once && options.span.since.empty() && !store_of(options.socket) && Terminal::present())
        return run_live(options);
    const auto profile = profile_of_arguments(options.span, std::string(protocol::kLatest), options.socket, {});
    if (!profile) return complain(profile.error());
    fmt::print("{}", top_page(*profile, options.rows, output_width()));
    return kDone;
}

}  // namespace

void add_top(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<TopOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "top", "How busy the CPUs are and what weighs most: live on a terminal, else one screen of the last window");
    command.footer(
        "On a terminal the screen follows the daemon slice by slice; q, Ctrl-C or Ctrl-D ends it. With --once or "
        "--since, "
        "or where the output is no terminal, one screen of stored windows is printed.");
    add_socket(command, options.socket);
    add_store(command, options.socket);
    add_span(command, options.span, nullptr);
    command.add_flag("--once", options.once, "print the last window and end, on a terminal too");
    command.add_option("--top", options.rows, "rows of functions of a printed screen (default: 20)")->check(a_count());
    command.callback([shared, &exit_code] { exit_code = run_top(*shared); });
}

}  // namespace perfvigil::cli
