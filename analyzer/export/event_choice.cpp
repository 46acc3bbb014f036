// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/event_choice.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "analyzer/breakdown.hpp"
#include "analyzer/export/weight_text.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {

Result<EventChoice> choose_event(const Profile& profile, const std::optional<std::string>& name) {
    const auto& events = profile.events;
    const auto named = [&](const ProfileEvent& event) { return !name || event.name == *name; };
    const auto first = [&](auto&& wanted) { return std::ranges::find_if(events, wanted); };
    auto found = first([&](const auto& event) { return named(event) && event.samples > event.idle_samples; });
    if (found == events.end()) found = first([&](const auto& event) { return named(event) && event.samples > 0; });
    if (found == events.end() && name) found = first(named);
    if (found == events.end() && name) {
        std::vector<std::string> known;
        for (const auto& event : events) known.push_back(event.name);
        return fail(ErrorCode::kNotFound, fmt::format("there is no event {} in {}; it has: {}", escape(*name),
                                                      profile.id, fmt::join(known, ", ")));
    }
    if (found == events.end()) return fail(ErrorCode::kNotFound, profile.id + " holds no samples to export");
    EventChoice choice{.event = static_cast<std::uint32_t>(found - events.begin())};
    for (const auto& event : events) {
        if (&event != &*found && event.samples > 0) choice.others.push_back(event.name);
    }
    return choice;
}

std::string event_text(const Profile& profile, std::uint32_t event, IdleRows idle) {
    const auto& shown = profile.events[event];
    const auto [samples, weight] = event_sum(shown, idle);
    auto text = fmt::format("{}: {}, {} samples{}", shown.name, weight_text(shown.unit, weight), samples,
                            idle == IdleRows::kInclude ? ", idle ones included" : "");
    if (!profile.filter.empty()) {
        text += fmt::format("; {} of the event ({})", share_text(shown.weight, shown.whole_weight), profile.filter);
    }
    return text;
}

}  // namespace perfvigil::analyzer
