// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/profile_maker.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/text.hpp"

namespace perfvigil::test {

using analyzer::UnknownReason;

ProfileMaker::ProfileMaker(std::string_view event, analyzer::WeightUnit unit) {
    profile_.id = "made";
    profile_.end = WallTime(std::chrono::seconds(1769861100));
    profile_.start = profile_.end - std::chrono::seconds(1);
    profile_.duration = std::chrono::seconds(1);
    profile_.host = {.hostname = "box",
                     .os_release = "6.1.0",
                     .architecture = "x86_64",
                     .cpu_description = "Some CPU",
                     .recorder = "perfvigil 0.1.0",
                     .cpus_online = 1};
    this->event(event, unit);
}

ProfileMaker& ProfileMaker::event(std::string_view name, analyzer::WeightUnit unit) {
    auto& events = profile_.events;
    const auto found = std::ranges::find(events, name, &analyzer::ProfileEvent::name);
    event_ = static_cast<std::uint32_t>(found - events.begin());
    if (found != events.end()) return *this;
    const bool clock = unit == analyzer::WeightUnit::kNanoseconds;
    events.push_back({.name = std::string(name),
                      .unit = unit,
                      .frequency_mode = true,
                      .rate = 100,
                      .nominal_period = Nanoseconds(clock ? kTick : 0)});
    return *this;
}

ProfileMaker& ProfileMaker::add(std::string_view folded, std::uint64_t samples, Who who, std::uint8_t flags) {
    count(folded, samples, who, flags, false);
    return *this;
}

ProfileMaker& ProfileMaker::idle(std::string_view folded, std::uint64_t samples) {
    count(folded, samples, {.comm = "swapper"}, analyzer::kStackIdleLoop | analyzer::kStackKernelLeaf, true);
    return *this;
}

void ProfileMaker::count(std::string_view folded, std::uint64_t samples, Who who, std::uint8_t flags, bool idle) {
    std::vector<std::uint32_t> functions;
    for (auto name : split(folded, ';')) {
        auto dso = name;
        name = next_piece(dso, '@');
        if (dso.empty()) dso = "/bin/app";
        functions.push_back(tables_.function(name, dso, dso.starts_with("[kernel"),
                                             name == "[unknown]" ? UnknownReason::kNoSymbols : UnknownReason::kNone));
    }
    std::ranges::reverse(functions);
    const std::uint64_t weight = samples * kTick;
    tables_.count(event_, tables_.stack(functions, flags), tables_.context(who.comm, who.cgroup), idle, samples,
                  weight);
    auto& event = profile_.events[event_];
    event.samples += samples;
    event.weight += weight;
    event.idle_samples += idle ? samples : 0;
    event.idle_weight += idle ? weight : 0;
}

analyzer::Profile ProfileMaker::build() {
    tables_.hand_over(profile_);
    return std::move(profile_);
}

std::uint32_t function_number(const analyzer::Profile& profile, std::string_view name) {
    const auto found = std::ranges::find(profile.functions, name, &analyzer::ProfileFunction::name);
    if (found == profile.functions.end()) throw std::out_of_range(std::string(name));
    return static_cast<std::uint32_t>(found - profile.functions.begin());
}

}  // namespace perfvigil::test
