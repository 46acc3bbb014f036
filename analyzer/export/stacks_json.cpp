// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/stacks_json.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "analyzer/export/build_ids.hpp"
#include "analyzer/function_place.hpp"
#include "analyzer/observation_warnings.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

json::value time_or_null(WallTime time) {
    return time == WallTime{} ? json::value(nullptr) : json::value(iso_time(time));
}

json::object event_object(const ProfileEvent& event) {
    json::object object{
        {"name", escape(event.name)},
        {"unit", event.unit == WeightUnit::kNanoseconds ? "nanoseconds"
                                                        : (event.unit == WeightUnit::kCycles ? "cycles" : "events")},
        {"samples", event.samples},
        {"period", event.weight},
        {"idle_samples", event.idle_samples},
        {"idle_period", event.idle_weight},
        {"lost", event.lost}};
    if (event.whole_samples != 0) {
        object["whole_samples"] = event.whole_samples;
        object["whole_period"] = event.whole_weight;
    }
    return object;
}

json::array functions_of(const Profile& profile) {
    const BuildIds build_ids = build_ids_of(profile);
    json::array functions;
    for (const auto& function : profile.functions) {
        json::object object{
            {"symbol", escape(function.name)}, {"dso", escape(function.dso)}, {"kernel", function.kernel}};
        if (const auto found = build_ids.find(function.dso); found != build_ids.end()) {
            object["build_id"] = escape(found->second);
        }
        if (function.reason != UnknownReason::kNone) object["unknown"] = reason_name(function.reason);
        add_place(object, function);
        functions.push_back(std::move(object));
    }
    return functions;
}

json::object sample_object(const Profile& profile, const ProfileSample& sample) {
    const ProfileContext& context = profile.contexts[sample.context];
    json::object object{{"event", escape(profile.events[sample.event].name)},
                        {"comm", escape(context.comm)},
                        {"unit", escape(context.unit)},
                        {"container", escape(context.container)}};
    if (context.pid) object["pid"] = context.pid->value;
    if (context.tid) object["tid"] = context.tid->value;
    if (context.cpu) object["cpu"] = context.cpu->value;
    if (sample.idle) object["idle"] = true;
    object["samples"] = sample.samples;
    object["period"] = sample.weight;
    json::array stack;
    for (const auto function : profile.stacks[sample.stack].functions) stack.emplace_back(std::uint64_t{function});
    object["stack"] = std::move(stack);
    return object;
}

}  // namespace

std::string stacks_json(const Profile& profile, const std::vector<std::uint32_t>& events, IdleRows idle) {
    json::array event_rows;
    for (const auto event : events) event_rows.push_back(event_object(profile.events[event]));
    json::array samples;
    for (const auto& sample : profile.samples) {
        if (sample.idle && idle == IdleRows::kExclude) continue;
        if (std::ranges::find(events, sample.event) == events.end()) continue;
        samples.push_back(sample_object(profile, sample));
    }
    json::array warnings;
    for (const auto& warning : warnings_of(profile)) warnings.emplace_back(escape(warning));
    const json::object file{{"schema", 1},
                            {"id", escape(profile.id)},
                            {"start", time_or_null(profile.start)},
                            {"end", time_or_null(profile.end)},
                            {"duration_seconds", to_seconds(profile.duration)},
                            {"hostname", escape(profile.host.hostname)},
                            {"filter", escape(profile.filter)},
                            {"warnings", std::move(warnings)},
                            {"events", std::move(event_rows)},
                            {"functions", functions_of(profile)},
                            {"samples", std::move(samples)}};
    return json::serialize(file) + "\n";
}

}  // namespace perfvigil::analyzer
