// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/this_host.hpp"

#include <sys/utsname.h>

#include <chrono>

#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::chrono::seconds kClockTolerance{2};  // a leap second, and the time between two readings

WallTime boot_time(WallTime wall, MonotonicTime monotonic) { return wall - monotonic.time_since_epoch(); }

}  // namespace

ThisHost read_this_host(const Clock& clock) {
    ThisHost host;
    utsname names{};
    if (::uname(&names) == 0) host.hostname = names.nodename;
    if (const auto notes = read_file("/sys/kernel/notes", 1U << 20)) {
        host.kernel_build_id = build_id_from_notes(std::as_bytes(std::span(*notes)));
    }
    host.boot = boot_time(clock.wall(), clock.monotonic());
    return host;
}

bool same_kernel(const ThisHost& host, const collector::HostFacts& capture) {
    return !host.kernel_build_id.empty() && host.kernel_build_id == capture.kernel_build_id;
}

bool same_boot(const ThisHost& host, const collector::HostFacts& capture) {
    if (!same_kernel(host, capture) || host.hostname != capture.hostname) return false;
    if (capture.wall_reference == WallTime{} || capture.monotonic_reference == MonotonicTime{}) return false;
    const auto boot = boot_time(capture.wall_reference, capture.monotonic_reference);
    return std::chrono::abs(boot - host.boot) <= kClockTolerance;
}

}  // namespace perfvigil::analyzer
