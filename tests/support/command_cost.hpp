// SPDX-License-Identifier: GPL-2.0-or-later
// What a command costs, with all that it starts and waits for.
#pragma once

#include <string>

namespace perfvigil::test {

struct Cost {
    double cpu_seconds = 0;  // user and system
    double wall_seconds = 0;
    long max_rss_kib = 0;  // of the largest process
    int status = 0;        // as of wait(2)
};

// Runs a shell command to its end.
[[nodiscard]] Cost cost_of(const std::string& command);
// The one of `runs` that took the least CPU time: what others do on the machine adds to it, nothing takes away.
[[nodiscard]] Cost least_cost_of(const std::string& command, int runs);

}  // namespace perfvigil::test
