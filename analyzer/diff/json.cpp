// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include <boost/json.hpp>

#include "analyzer/diff/report.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

json::string text(std::string_view foreign) { return json::string(escape(foreign)); }

std::string_view unit_name(WeightUnit unit) {
    switch (unit) {
        case WeightUnit::kNanoseconds: return "seconds";
        case WeightUnit::kCycles: return "cycles";
        case WeightUnit::kEvents: break;
    }
    return "events";
}

json::object side_object(const DiffSideFacts& side) {
    return {{"id", text(side.id)},
            {"duration_seconds", to_seconds(side.duration)},
            {"cpus_online", side.cpus},
            {"frequency_mode", side.frequency_mode},
            {"rate", side.rate},
            {"samples", side.samples},
            {"idle_samples", side.idle_samples},
            {"weight", side.weight},
            {"unresolved", side.unresolved},
            {"slices", side.slices}};
}

json::object change_object(const DiffChange& change) {
    return {{"before", change.before},        {"after", change.after},        {"change", change.change()},
            {"low", change.interval.low},     {"high", change.interval.high}, {"p", change.p},
            {"dispersion", change.dispersion}};
}

json::object row_object(const DiffRow& row, const Diff& diff) {
    json::object object{{"name", text(row.name)}};
    if (diff.by == DiffBy::kFunction || diff.by == DiffBy::kTotal) {
        object["dso"] = text(row.dso);
        object["kernel"] = row.kernel;
    }
    object["samples_before"] = row.samples_before;
    object["samples_after"] = row.samples_after;
    object["share"] = change_object(row.share);
    if (diff.absolute_known) object["absolute"] = change_object(row.absolute);
    object["tested"] = row.tested;
    object["false_discovery_rate"] = row.rate;
    object["significant"] = row.significant;
    return object;
}

json::object shift_object(const CalleeShift& shift) {
    json::array callees;
    for (const auto& callee : shift.callees) {
        callees.push_back({{"name", text(callee.name)},
                           {"dso", text(callee.dso)},
                           {"own_code", callee.name.empty()},
                           {"before", callee.before},
                           {"after", callee.after}});
    }
    return {{"name", text(shift.name)},
            {"dso", text(shift.dso)},
            {"samples_before", shift.samples_before},
            {"samples_after", shift.samples_after},
            {"false_discovery_rate", shift.rate},
            {"callees", std::move(callees)}};
}

json::object diff_object(const Diff& diff, std::size_t top) {
    json::array rows, detectable, shifts, notes;
    const std::size_t shown = top == 0 ? diff.rows.size() : std::min(top, diff.rows.size());
    for (std::size_t i = 0; i < shown; ++i) rows.push_back(row_object(diff.rows[i], diff));
    for (const auto& [share, change] : diff.detectable) {
        detectable.push_back({{"share", share}, {"change", change}});
    }
    for (const auto& shift : diff.callees) shifts.push_back(shift_object(shift));
    for (const auto& note : diff.notes) notes.push_back(json::string(note));
    json::object object{{"event", text(diff.event)},
                        {"unit", unit_name(diff.unit)},
                        {"by", diff_by_name(diff.by)},
                        {"measure", diff.measure == DiffMeasure::kShare ? "share" : "absolute"},
                        {"before", side_object(diff.before)},
                        {"after", side_object(diff.after)},
                        {"sampling_error_only", diff.sampling_error_only}};
    if (diff.sampling_error_only) object["why_sampling_only"] = json::string(diff.why_sampling_only);
    object["false_discovery_rate"] = Diff::kDiscoveryRate;
    object["fewest_samples"] = Diff::kFewestSamples;
    object["tested"] = diff.tested;
    object["significant"] = diff.significant;
    object["rows"] = std::move(rows);
    object["rows_left_out"] = diff.rows.size() - shown;
    object["detectable"] = std::move(detectable);
    if (diff.by == DiffBy::kTotal) object["callee_shifts"] = std::move(shifts);
    object["notes"] = std::move(notes);
    return object;
}

}  // namespace

std::string diff_json(std::span<const Diff> diffs, const DiffReportOptions& options) {
    json::array events;
    bool changed = false;
    for (const auto& diff : diffs) {
        events.push_back(diff_object(diff, options.top));
        changed |= diff.anything_changed();
    }
    return json::serialize(json::object{{"schema", 1}, {"changed", changed}, {"events", std::move(events)}}) + "\n";
}

}  // namespace perfvigil::analyzer
