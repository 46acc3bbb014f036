// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/report/json.hpp"

#include <algorithm>

#include "analyzer/hot_functions.hpp"
#include "analyzer/idle_cycles.hpp"
#include "analyzer/kernel_accounts.hpp"
#include "analyzer/relative_busyness.hpp"
#include "analyzer/report/observations.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

json::object cpu_object(const ProfileCpu& cpu, double idle_hertz, double relative) {
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
    if (const auto stat = busy_by_proc_stat(sum)) object["busy_by_proc_stat"] = *stat;
    if (cpu.run_delay_ns > 0) object["run_delay"] = in_seconds(static_cast<std::int64_t>(cpu.run_delay_ns));
    if (relative > 0) object["relative_busyness"] = relative;
    const double hertz = effective_hertz(sum, idle_hertz);
    object["effective_hertz"] = hertz > 0 ? json::value(hertz) : json::value(nullptr);
    if (hertz <= 0) {
        const NoFrequency why = frequency_of(sum).why;
        object["no_frequency"] = why == NoFrequency::kNone ? "cycles_in_idle" : no_frequency_name(why);
    }
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
            {"in_idle", ledger.in_idle},
            {"unattributed", ledger.unattributed},
            {"scaled", ledger.scaled},
            {"throttled", in_seconds(ledger.throttled.count())}};
}

json::value time_or_null(WallTime time) {
    return time == WallTime{} ? json::value(nullptr) : json::value(iso_time(time));
}

json::array texts(const std::vector<std::string>& lines) {
    json::array array;
    for (const auto& line : lines) array.push_back(json_text(line));
    return array;
}

}  // namespace

json::string json_text(std::string_view foreign) { return json::string(escape(foreign)); }

std::string report_json(const Profile& profile, const ReportOptions& options) {
    json::object report{
        {"schema", 1},
        {"id", json_text(profile.id)},
        {"start", time_or_null(profile.start)},
        {"end", time_or_null(profile.end)},
        {"duration_seconds", to_seconds(profile.duration)},
        {"partial", profile.partial},
        {"maps_suspect", profile.maps_suspect},
        {"rounded", profile.rounded},
        {"filter", profile.filter.empty() ? json::value(nullptr) : json::value(json_text(profile.filter))},
        {"host", json::object{{"hostname", json_text(profile.host.hostname)},
                              {"os_release", json_text(profile.host.os_release)},
                              {"architecture", json_text(profile.host.architecture)},
                              {"cpu_description", json_text(profile.host.cpu_description)},
                              {"cpus_online", profile.host.cpus_online},
                              {"recorder", json_text(profile.host.recorder)}}}};
    json::array events, cpus, ledger, cycles, broken, programs, throttled, degraded;
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) events.push_back(event_json(profile, options, i));
    const double idle_hertz = idle_cycles_hertz(std::span(profile.cpus));
    const auto relative = relative_busyness(profile.cpus);
    for (const auto& cpu : profile.cpus) {
        cpus.push_back(cpu_object(cpu, idle_hertz, relative[cpus.size()]));
        if (cpu.sum.clock_recorded) ledger.push_back(ledger_object(cpu));
        if (cpu.sum.cycles_recorded) cycles.push_back(cycles_object(cpu));
    }
    for (const auto& row : profile.broken) {
        broken.push_back({{"dso", json_text(row.dso)}, {"samples", row.samples}, {"broken", row.broken}});
    }
    for (const auto& row : profile.programs) {
        programs.push_back({{"unit", json_text(row.unit)},
                            {"container", json_text(row.container)},
                            {"slice", json_text(row.slice)},
                            {"cgroup", json_text(row.cgroup)},
                            {"program", json_text(row.path)},
                            {"build_id", json_text(row.build_id)},
                            {"package", json_text(row.package)},
                            {"package_version", json_text(row.package_version)},
                            {"samples", row.samples}});
    }
    for (const auto& row : profile.throttled_units) {
        throttled.push_back({{"unit", json_text(row.unit)},
                             {"periods", row.periods},
                             {"throttled_periods", row.throttled_periods},
                             {"throttled", in_seconds(row.throttled.count())}});
    }
    for (const auto& row : profile.degraded) {
        degraded.push_back(
            {{"reason", json_text(row.reason)}, {"detail", json_text(row.detail)}, {"remedy", json_text(row.remedy)}});
    }
    report["events"] = std::move(events);
    if (!options.focus.empty()) report["focus"] = focus_json(profile, options);
    report["cpus"] = std::move(cpus);
    report["ledger"] = std::move(ledger);
    report["cycles_ledger"] = std::move(cycles);
    report["broken_stacks"] = std::move(broken);
    report["programs"] = std::move(programs);
    report["throttled_units"] = std::move(throttled);
    report["degraded"] = std::move(degraded);
    report["observations"] = observations_json(observe(profile));
    report["warnings"] = texts(profile.warnings);
    report["notes"] = texts(profile.notes);
    if (!options.focus.empty() &&
        std::ranges::all_of(report["focus"].as_array(), [](const json::value& value) { return value.is_null(); })) {
        report["warnings"].as_array().push_back(json_text(focus_matches_nothing(profile, options.focus)));
    }
    return json::serialize(report) + "\n";
}

}  // namespace perfvigil::analyzer
