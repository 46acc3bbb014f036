// SPDX-License-Identifier: GPL-2.0-or-later
// The checks of `perfvigil doctor` as what the daemon publishes: what files can answer, a trial of the clock, and what
// the windows show of the programs that run. Opens nothing but that trial: what the session found by opening its events
// is its own to say.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/doctor/facts.hpp"
#include "analyzer/profile.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/event_kernel.hpp"
#include "collector/perf_probe.hpp"
#include "collector/sample_cost.hpp"
#include "config/options.hpp"
#include "daemon/degraded_set.hpp"

namespace perfvigil::daemon {

// Whether cpu-clock ticks: on some kernels it opens and then stands still. Keeps one CPU busy for kTrialLength.
[[nodiscard]] std::vector<collector::EventProbe> try_clock(collector::EventKernel& kernel,
                                                           collector::RecordingOptions recording, const Clock& clock,
                                                           const collector::Work& work = {});

// What files do not say; absent: not tried.
struct HostTrials {
    std::vector<collector::EventProbe> clock{};  // of try_clock()
    std::optional<collector::SampleCost> sample_cost{};
    std::optional<analyzer::doctor::SampledFacts> sampled{};
};

// What is wrong with this host or our rights on it, beside `known`. `root`: before /proc, /sys and /lib (tests).
[[nodiscard]] std::vector<collector::Degraded> examine_host(const config::Options& options,
                                                            const std::vector<collector::Degraded>& known,
                                                            const HostTrials& trials, const std::string& root = "");

// Keeps "host" of the set as it is now: settings, folders and programs change while the daemon runs. Any thread.
class HostExamination {
public:
    // Between two looks that windows lead to: the folders' files are counted each time.
    static constexpr Nanoseconds kPause = std::chrono::minutes(5);

    HostExamination(DegradedSet& degraded, HostTrials trials, std::string root = "");

    // Looks now, with these wishes from now on.
    void configure(const config::Options& options);
    void on_window(const analyzer::Profile& profile, MonotonicTime now);

private:
    void look();

    std::mutex mutex_;
    DegradedSet& degraded_;
    std::string root_;
    HostTrials trials_;
    config::Options options_;
    std::optional<MonotonicTime> looked_;  // at a window
};

}  // namespace perfvigil::daemon
