// SPDX-License-Identifier: GPL-2.0-or-later
// Call chains, focus and groups. A tree is an array of rows, depth first, because readers limit how deep JSON may nest.
#include <algorithm>

#include "analyzer/breakdown.hpp"
#include "analyzer/chain_ends.hpp"
#include "analyzer/chain_roots.hpp"
#include "analyzer/function_place.hpp"
#include "analyzer/hot_functions.hpp"
#include "analyzer/report/json.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

double least_percent(const ReportOptions& options) { return options.percent_limit.value_or(kLeastPathPercent); }

json::object function_json(const Profile& profile, std::uint32_t number) {
    const auto& function = profile.functions[number];
    json::object object{{"symbol", json_text(function.name)}, {"dso", json_text(function.dso)}};
    add_place(object, function);
    return object;
}

json::object paths_json(const Profile& profile, const CallPaths& paths) {
    json::array rows;
    for (const auto& row : paths.rows) {
        json::array functions;
        for (const auto function : row.functions) functions.push_back(function_json(profile, function));
        rows.push_back({{"depth", row.depth},
                        {"functions", std::move(functions)},
                        {"samples", row.samples},
                        {"period", row.weight},
                        {"end_samples", row.end_samples},
                        {"end_period", row.end_weight}});
    }
    return {{"rows", std::move(rows)},
            {"end_samples", paths.root_end_samples},
            {"end_period", paths.root_end_weight},
            {"hidden_samples", paths.hidden_samples},
            {"hidden_period", paths.hidden_weight}};
}

void add_totals(json::object& object, const FunctionTotals& totals) {
    object["self_samples"] = totals.self_samples;
    object["self_period"] = totals.self_weight;
    object["total_samples"] = totals.total_samples;
    object["total_period"] = totals.total_weight;
}

json::object hot_json(const Profile& profile, const HotFunction& hot) {
    auto object = function_json(profile, hot.totals.function);
    add_totals(object, hot.totals);
    object["callers"] = paths_json(profile, hot.callers);
    json::array callees;
    for (const auto& callee : hot.callees) {
        auto row = function_json(profile, callee.function);
        row["samples"] = callee.samples;
        row["period"] = callee.weight;
        callees.push_back(std::move(row));
    }
    object["callees"] = std::move(callees);
    return object;
}

}  // namespace

json::object call_chains_json(const Profile& plain, const ReportOptions& options, std::uint32_t event) {
    constexpr std::size_t kMostFunctions = 10;
    const auto roots = chain_roots(plain, event);
    const Profile profile = with_marked_ends(plain, MarkedEnds::kMissing);
    json::array functions;
    if (roots.recorded) {
        const auto whole = static_cast<double>(event_sum(profile.events[event], options.idle).weight);
        const auto share = least_percent(options) / 100;
        const auto totals = function_totals(profile, event, options.idle);
        const auto most = options.top == 0 ? kMostFunctions : std::min(options.top, kMostFunctions);
        for (const auto& hot :
             hot_functions(profile, event, options.idle, totals, most, share * whole,
                           {.least_share = share, .most_rows = 100, .runs = PathLimits::Runs::kExact})) {
            functions.push_back(hot_json(profile, hot));
        }
    }
    json::array ends;
    for (const auto& row : chain_end_counts(plain, event)) {
        json::object object{{"dso", json_text(row.dso)}, {"samples", row.samples}};
        for (const auto end : {ChainEnd::kBroken, ChainEnd::kTruncated, ChainEnd::kShortened, ChainEnd::kRootless}) {
            object[chain_end_name(end)] = row.ends[index_of(end)];
        }
        ends.push_back(std::move(object));
    }
    return {{"recorded", roots.recorded},
            {"samples", roots.samples},
            {"rooted_samples", roots.rooted},
            {"unrooted", std::move(ends)},
            {"least_percent", least_percent(options)},
            {"functions", std::move(functions)}};
}

json::object groups_json(const Profile& profile, const ReportOptions& options, std::uint32_t event) {
    json::array keys;
    for (const auto key : options.by) keys.emplace_back(group_key_name(key));
    json::array missing;
    for (const auto key : keys_not_kept(profile, options.by)) missing.emplace_back(group_key_name(key));
    json::array rows;
    for (const auto& group : group_by(profile, event, options.by, options.idle)) {
        if (options.top != 0 && rows.size() == options.top) break;
        json::object row;
        for (std::size_t i = 0; i < options.by.size(); ++i) {
            row[group_key_name(options.by[i])] = json_text(group.names[i]);
        }
        row["samples"] = group.samples;
        row["period"] = group.weight;
        rows.push_back(std::move(row));
    }
    return {{"keys", std::move(keys)}, {"not_kept", std::move(missing)}, {"rows", std::move(rows)}};
}

json::array focus_json(const Profile& plain, const ReportOptions& options) {
    const Profile profile = with_marked_ends(plain, MarkedEnds::kMissing);
    json::array events;
    const auto by_event = focus_on(profile, options.focus, options.idle,
                                   {.least_share = least_percent(options) / 100,
                                    .most_rows = 1000,
                                    .most_depth = 64,
                                    .runs = PathLimits::Runs::kExact});
    for (std::size_t i = 0; i < by_event.size(); ++i) {
        const auto& focus = by_event[i];
        if (focus.functions.empty()) {
            events.emplace_back(nullptr);
            continue;
        }
        json::object object{{"event", json_text(profile.events[i].name)}};
        json::array functions;
        for (const auto function : focus.functions) functions.push_back(function_json(profile, function));
        object["functions"] = std::move(functions);
        add_totals(object, focus.totals);
        object["callers"] = paths_json(profile, focus.callers);
        object["callees"] = paths_json(profile, focus.callees);
        events.push_back(std::move(object));
    }
    return events;
}

}  // namespace perfvigil::analyzer
