// SPDX-License-Identifier: GPL-2.0-or-later
// A small whole profile, as the analyst would make it.
#pragma once

#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::test {

inline analyzer::Profile small_profile(const std::string& id, std::int64_t end_second, std::uint64_t samples = 10) {
    using namespace std::chrono;
    analyzer::Profile profile;
    profile.id = id;
    profile.end = WallTime(seconds(end_second));
    profile.start = profile.end - seconds(60);
    profile.duration = seconds(60);
    profile.host.hostname = "host";
    analyzer::ProfileEvent event;
    event.name = "cpu-clock";
    event.unit = analyzer::WeightUnit::kNanoseconds;
    event.frequency_mode = true;
    event.rate = 99;
    event.samples = samples;
    event.weight = samples * 10101010;
    event.lost = 2;
    profile.events.push_back(event);
    profile.functions.push_back({"spin_here", "/usr/bin/spin", false, analyzer::UnknownReason::kNone});
    profile.stacks.push_back({{0}, 0});
    profile.contexts.push_back({.comm = "spin", .unit = "spin.service", .container = ""});
    analyzer::ProfileSample sample;
    sample.samples = samples;
    sample.weight = event.weight;
    profile.samples.push_back(sample);
    return profile;
}

}  // namespace perfvigil::test
