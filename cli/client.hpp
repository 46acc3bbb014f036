// SPDX-License-Identifier: GPL-2.0-or-later
// One request to the daemon over its Unix socket, with a time limit. Errors are sentences that say what to do.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace perfvigil::cli {

struct Reply {
    unsigned status = 0;  // HTTP
    std::string body;
};

// GET `target` of the daemon listening at `socket_path`. A reply of 400 and above is an Error that holds the daemon's
// own sentence. Where the control socket is not open to us, the read socket beside it is tried. In the place of a
// socket's path a store's folder may stand (store_folder.hpp).
[[nodiscard]] Result<Reply> get(const std::string& socket_path, const std::string& target,
                                std::chrono::seconds limit = std::chrono::seconds(30));

// POST `target`, what may be asked on the read socket too: it is tried as for get().
[[nodiscard]] Result<Reply> post(const std::string& socket_path, const std::string& target);

// POST `target`; `take` gets the answer's body as it comes, and may end it with an error. A first SIGINT or SIGTERM
// asks the daemon for the end and goes on reading, a second one gives up.
[[nodiscard]] Result<void> post_stream(const std::string& socket_path, const std::string& target,
                                       const std::function<Result<void>(std::string_view)>& take);

// One question after the other, until keys or SIGINT, SIGTERM, SIGHUP say that it is enough.
struct Watch {
    std::function<Result<void>()> on_start;         // signals are heeded from here on: the screen may be taken
    std::function<std::string()> target;            // of the next question
    std::function<void(const Reply&)> on_reply;     // its answer; the next question follows at once
    std::function<void(const Error&)> on_trouble;   // no answer; the next question follows a second later
    std::function<bool(std::string_view)> on_keys;  // pressed on the terminal; false: it is enough
    std::function<void()> on_resize;                // of the terminal
};
[[nodiscard]] Result<void> watch(const std::string& socket_path, const Watch& how);

// Of a parameter's value.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace perfvigil::cli
