// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/arguments.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
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

void add_json(CLI::App& command, OutputFormat& format) {
    command.add_flag_callback("--json", [&format] { format = OutputFormat::kJson; }, "JSON instead of text");
}

CLI::Validator one_of(std::vector<std::string> words) {
    return CLI::Validator(
        [words = std::move(words)](const std::string& word) {
            if (std::ranges::find(words, word) != words.end()) return std::string();
            return fmt::format("'{}' is none of {}", escape(word), fmt::join(words, ", "));
        },
        "");
}

CLI::Validator a_count() {
    return CLI::Validator(
        [](const std::string& word) {
            return parse_number<std::uint64_t>(word) ? std::string() : fmt::format("'{}' is no count", escape(word));
        },
        "");
}

void add_socket(CLI::App& command, std::string& socket) {
    socket = protocol::kDefaultControlSocket;
    command.add_option("--socket", socket, "the daemon's control socket")
        ->envname("PERFVIGIL_SOCKET")
        ->capture_default_str();
}

}  // namespace perfvigil::cli
