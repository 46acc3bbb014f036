// SPDX-License-Identifier: GPL-2.0-or-later
// A capability the recording had to do without. Never silent: each goes to logs, metrics, reports and captures.
#pragma once

#include <string>

namespace perfvigil::collector {

struct Degraded {
    std::string reason;  // short and stable, a metric label: "no_pmu", "no_kernel_samples", "no_lost_counts" …
    std::string detail;  // one sentence: what was tried, what the kernel said, what follows
    std::string remedy;  // one sentence: what to do; empty where nothing can be done

    friend bool operator==(const Degraded&, const Degraded&) = default;
};

}  // namespace perfvigil::collector
