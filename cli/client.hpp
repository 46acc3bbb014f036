// SPDX-License-Identifier: GPL-2.0-or-later
// One request to the daemon over its Unix socket, with a time limit. Errors are sentences that say what to do.
#pragma once

#include <chrono>
#include <string>

#include "base/error.hpp"

namespace perfvigil::cli {

struct Reply {
    unsigned status = 0;  // HTTP
    std::string body;
};

// GET `target` of the daemon listening at `socket_path`. A reply of 400 and above is an Error that holds the daemon's
// own sentence.
[[nodiscard]] Result<Reply> get(const std::string& socket_path, const std::string& target,
                                std::chrono::seconds limit = std::chrono::seconds(30));

}  // namespace perfvigil::cli
