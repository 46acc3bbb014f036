// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/command_cost.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.hpp"

namespace perfvigil::test {
namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Cost cost_of(const std::string& command) {
    const auto began = system_clock().monotonic();
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    Cost cost;
    rusage usage{};
    ::wait4(pid, &cost.status, 0, &usage);
    cost.wall_seconds = to_seconds(system_clock().monotonic() - began);
    cost.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    cost.max_rss_kib = usage.ru_maxrss;
    return cost;
}

Cost least_cost_of(const std::string& command, int runs) {
    Cost least = cost_of(command);
    for (int i = 1; i < runs; ++i) {
        const Cost next = cost_of(command);
        if (next.cpu_seconds < least.cpu_seconds) least = next;
    }
    return least;
}

}  // namespace perfvigil::test
