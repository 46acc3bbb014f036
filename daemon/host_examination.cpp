// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host_examination.hpp"

#include <algorithm>
#include <utility>

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
                                              const std::vector<collector::Degraded>& known, const HostTrials& trials,
                                              const std::string& root) {
    doctor::GatherOptions wanted{.root = root, .process_name = "perfvigild", .is_daemon = true};
    wanted.folders.push_back({"store.dir", options.store.directory, options.store.bytes});
    if (options.captures.enabled) {
        wanted.folders.push_back({"captures.dir", options.captures.directory, options.captures.bytes});
    }
    std::vector<collector::Degraded> found;
    auto facts = doctor::gather(wanted, options.recording);
    facts.probes = trials.clock;
    facts.sample_cost = trials.sample_cost;
    facts.sampled = trials.sampled;
    for (auto& one : doctor::examine(facts)) {
        const bool is_known = std::ranges::find(known, one.reason, &collector::Degraded::reason) != known.end();
        const bool is_told = std::ranges::find(found, one.reason, &collector::Degraded::reason) != found.end();
        if (one.reason.empty() || is_known || is_told) continue;
        found.push_back({std::move(one.reason), std::move(one.evidence), std::move(one.remedy)});
    }
    return found;
}

HostExamination::HostExamination(DegradedSet& degraded, HostTrials trials, std::string root)
    : degraded_(degraded), root_(std::move(root)), trials_(std::move(trials)) {}

void HostExamination::configure(const config::Options& options) {
    const std::lock_guard lock(mutex_);
    options_ = options;
    look();
}

void HostExamination::on_window(const analyzer::Profile& profile, MonotonicTime now) {
    const std::lock_guard lock(mutex_);
    if (looked_ && now - *looked_ < kPause) return;
    looked_ = now;
    trials_.sampled = doctor::sampled_facts(profile);
    look();
}

void HostExamination::look() { degraded_.set("host", examine_host(options_, degraded_.of("session"), trials_, root_)); }

}  // namespace perfvigil::daemon
