// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host_examination.hpp"

#include <algorithm>

#include "analyzer/doctor/finding.hpp"
#include "analyzer/doctor/gather.hpp"

namespace perfvigil::daemon {

namespace doctor = analyzer::doctor;

std::vector<collector::EventProbe> try_clock(collector::EventKernel& kernel, collector::RecordingOptions recording,
                                             const Clock& clock, const collector::Work& work) {
    std::erase_if(recording.events, [](const collector::EventSpec& event) {
        return event.type != collector::kTypeSoftware || event.config != collector::kSwCpuClock;
    });
    return collector::probe_events(kernel, recording, clock, work);
}

std::vector<collector::Degraded> examine_host(const config::Options& options,
                                              const std::vector<collector::Degraded>& known,
                                              const std::vector<collector::EventProbe>& tried,
                                              const std::string& root) {
    doctor::GatherOptions wanted{.root = root, .process_name = "perfvigild"};
    wanted.folders.push_back({"store.dir", options.store.directory, options.store.bytes});
    if (options.captures.enabled) {
        wanted.folders.push_back({"captures.dir", options.captures.directory, options.captures.bytes});
    }
    std::vector<collector::Degraded> found;
    auto facts = doctor::gather(wanted, options.recording);
    facts.probes = tried;
    for (auto& one : doctor::examine(facts)) {
        const bool is_known = std::ranges::find(known, one.reason, &collector::Degraded::reason) != known.end();
        const bool is_told = std::ranges::find(found, one.reason, &collector::Degraded::reason) != found.end();
        if (one.reason.empty() || is_known || is_told) continue;
        found.push_back({std::move(one.reason), std::move(one.evidence), std::move(one.remedy)});
    }
    return found;
}

}  // namespace perfvigil::daemon
