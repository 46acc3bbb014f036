// SPDX-License-Identifier: GPL-2.0-or-later
#include <memory>

#include <fmt/core.h>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/span_arguments.hpp"
#include "cli/top_page.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

struct TopOptions {
    std::string socket;
    SpanArguments span;
    std::size_t rows = 20;
};

int run_top(const TopOptions& options) {
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
        "top", "One screen: how busy the CPUs were, what weighed most, in the last window or in what --since says");
    add_socket(command, options.socket);
    add_span(command, options.span, nullptr);
    command.add_option("--top", options.rows, "rows of functions (default: 20)")->check(a_count());
    command.callback([shared, &exit_code] { exit_code = run_top(*shared); });
}

}  // namespace perfvigil::cli
