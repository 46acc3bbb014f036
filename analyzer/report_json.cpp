// SPDX-License-Identifier: GPL-2.0-or-later
#include <boost/json.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/breakdown.hpp"
#include "analyzer/report.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// JSON wants UTF-8; names of processes and functions promise nothing. Names without a blemish stay as they are.
json::string text(std::string_view foreign) { return json::string(escape(foreign)); }

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
        json::object object{{"symbol", text(function.name)},   {"dso", text(function.dso)},
                            {"kernel", function.kernel},       {"self_samples", row.self_samples},
                            {"self_period", row.self_weight},  {"total_samples", row.total_samples},
                            {"total_period", row.total_weight}};
        if (const auto idle = idle_self.find(row.function); idle != idle_self.end()) {
            object["idle_samples"] = idle->second;
        }
        if (function.reason != UnknownReason::kNone) object["unknown"] = reason_name(function.reason);
        rows.push_back(std::move(object));
    }
    return rows;
}

json::array shares_of(const Profile& profile, std::uint32_t event, Dimension dimension, std::string_view key) {
    json::array rows;
    for (const auto& share : breakdown(profile, event, dimension, IdleRows::kInclude)) {
        rows.push_back({{key, text(share.key)}, {"samples", share.samples}, {"period", share.weight}});
    }
    return rows;
}

json::object event_object(const Profile& profile, std::uint32_t index, std::size_t top) {
    const auto& event = profile.events[index];
    return {{"name", text(event.name)},
            {"unit", unit_name(event.unit)},
            {"frequency_mode", event.frequency_mode},
            {"rate", event.rate},
            {"samples", event.samples},
            {"event_count", event.weight},
            {"idle_samples", event.idle_samples},
            {"idle_event_count", event.idle_weight},
            {"lost", event.lost},
            {"lost_is_shared", event.lost_is_shared},
            {"functions", functions_of(profile, index, top)},
            {"unknown", shares_of(profile, index, Dimension::kUnknown, "reason")},
            {"dsos", shares_of(profile, index, Dimension::kDso, "dso")},
            {"comms", shares_of(profile, index, Dimension::kComm, "comm")},
            {"units", shares_of(profile, index, Dimension::kUnit, "unit")},
            {"containers", shares_of(profile, index, Dimension::kContainer, "container")}};
}

json::object cpu_object(const ProfileCpu& cpu) {
    const auto& sum = cpu.sum;
    json::object object{{"cpu", sum.cpu.value}};
    if (cpu.busy.known) {
        object["busy"] = cpu.busy.ratio;
        object["busy_low"] = cpu.busy.interval.low;
        object["busy_high"] = cpu.busy.interval.high;
        object["coverage"] = cpu.busy.coverage;
        object["seconds"] = to_seconds(sum.enabled);
        object["seconds_estimated"] = sum.time_estimated;
        object["ticks_due"] = sum.ticks_due;
        object["samples"] = sum.samples;
        object["idle_samples"] = sum.idle_samples;
        object["lost"] = sum.lost;
        object["user"] = to_seconds(sum.mode_time[index_of(Mode::kUser)]);
        object["kernel"] = to_seconds(sum.mode_time[index_of(Mode::kKernel)]);
        object["softirq"] = to_seconds(sum.mode_time[index_of(Mode::kSoftirq)]);
        object["idle"] = to_seconds(sum.mode_time[index_of(Mode::kIdle)]);
    } else {
        for (const auto* key : {"busy", "busy_low", "busy_high", "coverage"}) object[key] = nullptr;
    }
    const double hertz = effective_hertz(sum);
    object["effective_hertz"] = hertz > 0 ? json::value(hertz) : json::value(nullptr);
    return object;
}

json::object ledger_object(const ProfileCpu& cpu) {
    const auto& ledger = cpu.ledger;
    return {{"cpu", cpu.sum.cpu.value},
            {"seconds", in_seconds(ledger.total)},
            {"busy", in_seconds(ledger.busy)},
            {"idle", in_seconds(ledger.idle)},
            {"irq_in_idle", in_seconds(ledger.irq_in_idle)},
            {"lost", in_seconds(ledger.lost)},
            {"throttled", in_seconds(ledger.throttled)},
            {"idle_unsampled", in_seconds(ledger.idle_unsampled)},
            {"stolen", in_seconds(ledger.stolen)},
            {"unexplained", in_seconds(ledger.unexplained)}};
}

json::object cycles_object(const ProfileCpu& cpu) {
    const auto ledger = cycles_ledger(cpu.sum);
    return {{"cpu", cpu.sum.cpu.value},
            {"counted", ledger.counted},
            {"sampled", ledger.sampled},
            {"unattributed", ledger.unattributed},
            {"scaled", ledger.scaled}};
}

json::value time_or_null(WallTime time) {
    return time == WallTime{} ? json::value(nullptr) : json::value(iso_time(time));
}

json::array texts(const std::vector<std::string>& lines) {
    json::array array;
    for (const auto& line : lines) array.push_back(text(line));
    return array;
}

}  // namespace

std::string report_json(const Profile& profile, const ReportOptions& options) {
    json::object report{{"schema", 1},
                        {"id", text(profile.id)},
                        {"start", time_or_null(profile.start)},
                        {"end", time_or_null(profile.end)},
                        {"duration_seconds", to_seconds(profile.duration)},
                        {"partial", profile.partial},
                        {"maps_suspect", profile.maps_suspect},
                        {"host", json::object{{"hostname", text(profile.host.hostname)},
                                              {"os_release", text(profile.host.os_release)},
                                              {"architecture", text(profile.host.architecture)},
                                              {"cpu_description", text(profile.host.cpu_description)},
                                              {"cpus_online", profile.host.cpus_online},
                                              {"recorder", text(profile.host.recorder)}}}};
    json::array events, cpus, ledger, cycles, broken, degraded;
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) events.push_back(event_object(profile, i, options.top));
    for (const auto& cpu : profile.cpus) {
        cpus.push_back(cpu_object(cpu));
        if (cpu.sum.clock_recorded) ledger.push_back(ledger_object(cpu));
        if (cpu.sum.cycles_recorded) cycles.push_back(cycles_object(cpu));
    }
    for (const auto& row : profile.broken) {
        broken.push_back({{"dso", text(row.dso)}, {"samples", row.samples}, {"broken", row.broken}});
    }
    for (const auto& row : profile.degraded) {
        degraded.push_back({{"reason", text(row.reason)}, {"detail", text(row.detail)}, {"remedy", text(row.remedy)}});
    }
    report["events"] = std::move(events);
    report["cpus"] = std::move(cpus);
    report["ledger"] = std::move(ledger);
    report["cycles_ledger"] = std::move(cycles);
    report["broken_stacks"] = std::move(broken);
    report["degraded"] = std::move(degraded);
    report["warnings"] = texts(profile.warnings);
    report["notes"] = texts(profile.notes);
    return json::serialize(report) + "\n";
}

}  // namespace perfvigil::analyzer
