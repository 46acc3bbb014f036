// SPDX-License-Identifier: GPL-2.0-or-later
// Which host, kernel and boot this is, to tell whether a capture comes from it: the names of this host must never be
// put on addresses of another one.
#pragma once

#include <string>

#include "base/build_id.hpp"
#include "base/time.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

struct ThisHost {
    std::string hostname;
    BuildId kernel_build_id;
    WallTime boot{};  // wall time minus CLOCK_MONOTONIC: moves only with steps of the clock and suspends
};

[[nodiscard]] ThisHost read_this_host(const Clock& clock);

[[nodiscard]] bool same_kernel(const ThisHost& host, const collector::HostFacts& capture);
// The same kernel, in the same boot; false where the capture does not say when it was made.
[[nodiscard]] bool same_boot(const ThisHost& host, const collector::HostFacts& capture);

}  // namespace perfvigil::analyzer
