// SPDX-License-Identifier: GPL-2.0-or-later
// Where a command's profile comes from: a file, standard input, or a window of the running daemon.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "analyzer/input/load.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::cli {

// Whether `source` is a path or "-" rather than a window: it holds '/' or '.', or the working folder has such a file
// (which wins over a window of its name).
[[nodiscard]] bool names_a_file(const std::string& source);

// A file is read as `options` say. A window ("latest" or an id) is fetched as it is stored from the daemon that listens
// at `socket`; what `options` ask of single samples is not in it.
[[nodiscard]] Result<analyzer::Profile> profile_from(const std::string& source, const std::string& socket,
                                                     const analyzer::LoadOptions& options);

// The same window as the bytes that the daemon stores: a file of them is read as the window is.
[[nodiscard]] Result<std::string> stored_window(const std::string& id, const std::string& socket);

// Why questions about single samples are refused where `source` names windows.
[[nodiscard]] Error windows_have_no_samples(const std::string& source);

// The positional argument of commands that read one profile; "latest" where it is not given.
CLI::Option* add_source(CLI::App& command, std::string& source);

}  // namespace perfvigil::cli
