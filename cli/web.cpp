// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <unistd.h>
#include <boost/json.hpp>

#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

struct WebOptions {
    std::string socket;
    OutputFormat format = OutputFormat::kText;
};

// "http://127.0.0.1:9909/open?key=…" → "127.0.0.1:9909".
std::string_view host_and_port(std::string_view url) {
    constexpr std::string_view kScheme = "http://";
    if (url.starts_with(kScheme)) url.remove_prefix(kScheme.size());
    return url.substr(0, url.find('/'));
}

std::string this_host() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? escape(name.data()) : "HOST";
}

int run_web(const WebOptions& options) {
    const auto reply = post(options.socket, std::string(protocol::kWeb));
    if (!reply) return complain(reply.error());
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}\n", trim(reply->body));
        return kDone;
    }
    boost::system::error_code wrong;
    const auto parsed = boost::json::parse(reply->body, wrong);
    const auto* url = !wrong && parsed.is_object() ? parsed.get_object().if_contains(protocol::field::kUrl) : nullptr;
    if (url == nullptr || !url->is_string())
        return complain({ErrorCode::kInvalid, 0, "the daemon's answer is not JSON"});
    const std::string address = escape(std::string_view(url->get_string()));
    const std::string place(host_and_port(address));
    const auto port = place.substr(place.rfind(':') + 1);
    fmt::print("{}\n", address);
    std::fflush(stdout);  // first, where both go into one file
    fmt::print(stderr,
               "It opens once, in the next 5 minutes, in a browser on this host. From another one, first:\n"
               "    ssh -L {}:{} {}\n",
               port, place, this_host());
    return kDone;
}

}  // namespace

void add_web(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<WebOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("web", "Prints an address that opens the daemon's page in a browser, once");
    add_socket(command, options.socket);
    add_json(command, options.format);
    command.callback([shared, &exit_code] { exit_code = run_web(*shared); });
}

}  // namespace perfvigil::cli
