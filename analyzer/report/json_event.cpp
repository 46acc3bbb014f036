// SPDX-License-Identifier: GPL-2.0-or-later
#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/breakdown.hpp"
#include "analyzer/function_place.hpp"
#include "analyzer/report/json.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

std::string_view unit_name(WeightUnit unit) {
    switch (unit) {
        case WeightUnit::kNanoseconds: return "nanoseconds";
        case WeightUnit::kCycles: return "cycles";
        case WeightUnit::kEvents: return "events";
    }
    return "events";
}

json::array functions_of(const Profile& profile, std::uint32_t event, std::size_t top) {
    boost::unordered_flat_map<std::uint32_t, std::uint64_t> idle_self;
    for (const auto& sample : profile.samples) {
        const auto& stack = profile.stacks[sample.stack].functions;
        if (sample.event == event && sample.idle && !stack.empty()) idle_self[stack.front()] += sample.samples;
    }
    json::array rows;
    for (const auto& row : function_totals(profile, event, IdleRows::kInclude)) {
        if (top != 0 && rows.size() == top) break;
        const auto& function = profile.functions[row.function];
        json::object object{{"symbol", json_text(function.name)}, {"dso", json_text(function.dso)},
                            {"kernel", function.kernel},          {"self_samples", row.self_samples},
                            {"self_period", row.self_weight},     {"total_samples", row.total_samples},
                            {"total_period", row.total_weight}};
        if (const auto idle = idle_self.find(row.function); idle != idle_self.end()) {
            object["idle_samples"] = idle->second;
        }
        if (!function.variants.empty()) {
            json::array variants;
            for (const auto& symbol : function.variants) variants.push_back(json_text(symbol));
            object["variants"] = std::move(variants);
        }
        if (function.reason != UnknownReason::kNone) object["unknown"] = reason_name(function.reason);
        add_place(object, function);
        rows.push_back(std::move(object));
    }
    return rows;
}

json::array shares_of(const Profile& profile, std::uint32_t event, Dimension dimension, std::string_view key) {
    json::array rows;
    for (const auto& share : breakdown(profile, event, dimension, IdleRows::kInclude)) {
        rows.push_back({{key, json_text(share.key)}, {"samples", share.samples}, {"period", share.weight}});
    }
    return rows;
}

}  // namespace

json::object event_json(const Profile& profile, const ReportOptions& options, std::uint32_t index) {
    const auto& event = profile.events[index];
    json::object object{{"name", json_text(event.name)},
                        {"unit", unit_name(event.unit)},
                        {"frequency_mode", event.frequency_mode},
                        {"rate", event.rate},
                        {"samples", event.samples},
                        {"event_count", event.weight},
                        {"idle_samples", event.idle_samples},
                        {"idle_event_count", event.idle_weight},
                        {"lost", event.lost},
                        {"lost_is_shared", event.lost_is_shared},
                        {"functions", functions_of(profile, index, options.top)},
                        {"unknown", shares_of(profile, index, Dimension::kUnknown, "reason")},
                        {"dsos", shares_of(profile, index, Dimension::kDso, "dso")},
                        {"comms", shares_of(profile, index, Dimension::kComm, "comm")},
                        {"units", shares_of(profile, index, Dimension::kUnit, "unit")},
                        {"containers", shares_of(profile, index, Dimension::kContainer, "container")}};
    if (!profile.filter.empty()) {
        object["whole"] = json::object{{"samples", event.whole_samples}, {"event_count", event.whole_weight}};
    }
    if (!options.by.empty()) object["by"] = groups_json(profile, options, index);
    if (options.chains != ReportOptions::Chains::kHide)
        object["call_chains"] = call_chains_json(profile, options, index);
    return object;
}

}  // namespace perfvigil::analyzer
