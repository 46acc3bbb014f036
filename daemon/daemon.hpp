// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon from its start to its end: opens what it needs, starts the threads, answers on the listeners, reloads on
// SIGHUP, and on SIGTERM or SIGINT stores the last window before it goes.
//
//   io (this thread)   signals, HTTP, watchdog        sampler ─▶ analyst
//   starts: control socket, source, names, threads, listeners     ends: sampler, analyst, captures, opener
#pragma once

#include <optional>
#include <string>

#include "config/options.hpp"

namespace perfvigil::daemon {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 64;     // sysexits.h
inline constexpr int kExitNoRights = 77;  // …
inline constexpr int kExitConfig = 78;    // …

struct RunOptions {
    std::string config_file;            // read again at SIGHUP; empty: none, defaults are in force
    std::optional<std::string> replay;  // a capture in place of the kernel
    double speed = 1;
};

// Returns the exit status.
[[nodiscard]] int run_daemon(config::Options options, const RunOptions& run);

}  // namespace perfvigil::daemon
