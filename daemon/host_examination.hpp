// SPDX-License-Identifier: GPL-2.0-or-later
// The checks of `perfvigil doctor` that files can answer, and a trial of the clock, as what the daemon publishes.
// Samples nothing: what the session found by opening its events is its own to say.
#pragma once

#include <string>
#include <vector>

#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/event_kernel.hpp"
#include "collector/perf_probe.hpp"
#include "config/options.hpp"

namespace perfvigil::daemon {

// Whether cpu-clock ticks: on some kernels it opens and then stands still. Keeps one CPU busy for kTrialLength.
[[nodiscard]] std::vector<collector::EventProbe> try_clock(collector::EventKernel& kernel,
                                                           collector::RecordingOptions recording, const Clock& clock,
                                                           const collector::Work& work = {});

// What is wrong with this host or our rights on it, beside `known`. `tried`: what try_clock() found; empty: not tried.
// `root`: before /proc, /sys and /lib (tests).
[[nodiscard]] std::vector<collector::Degraded> examine_host(const config::Options& options,
                                                            const std::vector<collector::Degraded>& known,
                                                            const std::vector<collector::EventProbe>& tried,
                                                            const std::string& root = "");

}  // namespace perfvigil::daemon
