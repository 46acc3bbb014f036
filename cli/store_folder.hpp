// SPDX-License-Identifier: GPL-2.0-or-later
// A store's folder, such as a copy from another host, in the place of a daemon: what the daemon would answer of its
// windows is answered from their files. Nothing is written there, and the index is not needed.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "cli/client.hpp"

namespace perfvigil::cli {

// --store DIR: stands where the socket's path does, and excludes --socket.
void add_store(CLI::App& command, std::string& socket);

// The folder, where `socket` stands for one.
[[nodiscard]] std::optional<std::string> store_of(const std::string& socket);

// GET `target`; only what is told of windows has an answer.
[[nodiscard]] Result<Reply> get_from_store(const std::string& directory, const std::string& target);

}  // namespace perfvigil::cli
