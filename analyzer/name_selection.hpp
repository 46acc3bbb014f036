// SPDX-License-Identifier: GPL-2.0-or-later
// What of a profile a reader asks for, by name. A pure function from a Profile to a smaller one, so that every report
// and export composes with filters. What has to be judged sample by sample (time, pid, tid, cpu) is not known here.
#pragma once

#include <string>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// Patterns (name_pattern.hpp). A sample stays if each kind that is not empty has one that matches.
struct NameSelection {
    std::vector<std::string> events{};  // the whole name, or what stands before its ':' ("cycles" of "cycles:ppp")
    std::vector<std::string> comms{};
    std::vector<std::string> dsos{};     // of the sampled function: path or last part of it
    std::vector<std::string> symbols{};  // the sampled function
    std::vector<std::string> parents{};  // any caller in the stack
    std::vector<std::string> units{};    // "nginx" is "nginx.service" too

    [[nodiscard]] bool empty() const {
        return events.empty() && comms.empty() && dsos.empty() && symbols.empty() && parents.empty() && units.empty();
    }
};

// What the selection leaves of `profile`: its samples, the tables they need, sums recomputed; whole_samples and
// whole_weight hold what they were of the whole (or of what an earlier filter saw as the whole), `filter` says what
// was selected. CPUs, ledgers and lost samples stay those of the recording, and a note says so; moments cannot be
// divided and are dropped, unless events alone were selected. A pattern that matches nothing is a warning that names
// what there is.
[[nodiscard]] Profile select(Profile profile, const NameSelection& selection);

}  // namespace perfvigil::analyzer
