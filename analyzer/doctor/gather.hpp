// SPDX-License-Identifier: GPL-2.0-or-later
// Fills the doctor's facts from this host: files below /proc and /sys, the process that records, folders, and (asked
// for by itself, since it keeps a CPU busy for a moment) trials of the events. Judges nothing.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "analyzer/doctor/facts.hpp"
#include "analyzer/profile.hpp"
#include "base/time.hpp"
#include "collector/event_kernel.hpp"
#include "collector/recording_options.hpp"

namespace perfvigil::analyzer::doctor {

struct WantedFolder {
    std::string key;
    std::string path;
    std::uint64_t limit = 0;
};

struct GatherOptions {
    std::string root{};  // before /proc, /sys and /lib (tests)
    // Whose rights and limits count: "self", or the number of a daemon that runs.
    std::string process = "self";
    std::string process_name = "this process";
    bool is_daemon = false;
    std::vector<WantedFolder> folders{};
};

// Everything that files say.
[[nodiscard]] Facts gather(const GatherOptions& options, const collector::RecordingOptions& recording);

// Tries the events, and measures what a sample costs: about a second and a quarter.
void gather_trials(Facts& facts, collector::EventKernel& kernel, const collector::RecordingOptions& recording,
                   const Clock& clock);

// What a short recording of the host shows.
[[nodiscard]] SampledFacts sampled_facts(const Profile& profile);

}  // namespace perfvigil::analyzer::doctor
