// SPDX-License-Identifier: GPL-2.0-or-later
// When a unit's main program was last replaced by another build, from what stored profiles say of it, and which two
// stretches of time around that compare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"
#include "cli/wall_times.hpp"

namespace perfvigil::cli {

// One profile's word on it.
struct BuildSighting {
    std::string id;  // of the profile
    WallSpan span;
    std::vector<std::string> builds;  // of the program; empty: it did not run then, or its build-id is not known

    friend bool operator==(const BuildSighting&, const BuildSighting&) = default;
};

struct Deploy {
    std::string before;  // build-ids
    std::string after;
    WallSpan old_span;  // only the old one ran, as far back as that is known
    WallSpan new_span;  // only the new one has run since
};

// `sightings` oldest first. Profiles that saw both builds belong to neither side.
[[nodiscard]] std::optional<Deploy> last_deploy(const std::vector<BuildSighting>& sightings);

// The path of a unit's main program, the one with most samples; empty: there is none. "nginx" is nginx.service too.
[[nodiscard]] std::string main_program(const analyzer::Profile& profile, const std::string& unit);
[[nodiscard]] std::vector<std::string> builds_in(const analyzer::Profile& profile, const std::string& unit,
                                                 const std::string& program);

struct DeploySides {
    std::string program;
    Deploy deploy;
    WallSpan before;  // equally long: up to an hour next to the change
    WallSpan after;
};
// Asks the daemon for one profile after the other, newest first, until it has seen enough; what saw both builds is
// looked at again in its parts.
[[nodiscard]] Result<DeploySides> find_deploy(const std::string& unit, const std::string& socket, WallTime now);

}  // namespace perfvigil::cli
