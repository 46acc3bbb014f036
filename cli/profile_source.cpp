// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/profile_source.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "analyzer/profile/codec.hpp"
#include "base/time.hpp"
#include "cli/client.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

bool is_window(const std::string& source) {
    return !source.empty() &&
           std::ranges::all_of(source, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
}

Result<analyzer::Profile> window_from(const std::string& id, const std::string& socket) {
    const auto bytes = stored_window(id, socket);
    if (!bytes) return fail(bytes.error());
    auto profile = analyzer::decode_profile(std::as_bytes(std::span(*bytes)));
    if (!profile) return fail(std::move(profile.error()).at("window " + id));
    return profile;
}

}  // namespace

Result<std::string> stored_window(const std::string& id, const std::string& socket) {
    if (!is_window(id)) return fail(ErrorCode::kInvalid, id + ": neither a file nor the id of a window");
    auto reply = get(socket, fmt::format("{}/{}/{}", protocol::kWindows, id, protocol::kProfile));
    if (!reply) return fail(std::move(reply.error()));
    return std::move(reply->body);
}

Error windows_have_no_samples(const std::string& source) {
    return {ErrorCode::kUnsupported, 0,
            source +
                ": windows do not keep the time, CPU, pid, tid and address of samples; "
                "ask a capture instead (`perfvigil status` says where they are)"};
}

bool names_a_file(const std::string& source) {
    return source == "-" || source.find_first_of("/.") != std::string::npos || ::access(source.c_str(), F_OK) == 0;
}

Result<analyzer::Profile> profile_from(const std::string& source, const std::string& socket,
                                       const analyzer::LoadOptions& options) {
    if (names_a_file(source)) return analyzer::load_profile(source, options, system_clock());
    if (options.samples.selects() || options.samples.tells_apart()) {
        return fail(windows_have_no_samples(source));
    }
    auto window = window_from(source, socket);
    if (!window && is_window(source) && source != protocol::kLatest) {
        return fail(std::move(window.error()).at(source + " is no file, and as a window"));
    }
    return window;
}

CLI::Option* add_source(CLI::App& command, std::string& source) {
    source = protocol::kLatest;
    return command.add_option("source", source, "'latest', a window's id, or a file ('-': standard input)")
        ->capture_default_str();
}

}  // namespace perfvigil::cli
