// SPDX-License-Identifier: GPL-2.0-or-later
// The one file that knows prometheus-cpp: names, help and labels of every series. Each text is written from plain
// sums, in a fixed order, so two expositions can be compared line by line.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analyzer/idle_cycles.hpp"
#include "base/text.hpp"
#include "daemon/hotspot_identity.hpp"
#include "daemon/metrics.hpp"
#include "daemon/metrics_state.hpp"

namespace perfvigil::daemon {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr double kNsPerSecond = 1e9;

template <class Number>
double as_double(Number number) {
    return static_cast<double>(number);
}
double ns_to_seconds(double ns) { return ns / kNsPerSecond; }

// Families in the order in which they are begun; one without series is left out.
class Page {
public:
    void counter(std::string_view name, std::string_view help) { begin("perfvigil_", name, help, MetricType::Counter); }
    void gauge(std::string_view name, std::string_view help) { begin("perfvigil_", name, help, MetricType::Gauge); }
    void process_counter(std::string_view name, std::string_view help) {
        begin("process_", name, help, MetricType::Counter);
    }
    void process_gauge(std::string_view name, std::string_view help) {
        begin("process_", name, help, MetricType::Gauge);
    }

    void add(Labels labels, double value) {
        ClientMetric metric;
        metric.label = std::move(labels);
        metric.counter.value = value;
        metric.gauge.value = value;
        families_.back().metric.push_back(std::move(metric));
    }
    void counter(std::string_view name, std::string_view help, double value) {
        counter(name, help);
        add({}, value);
    }
    void gauge(std::string_view name, std::string_view help, double value) {
        gauge(name, help);
        add({}, value);
    }

    [[nodiscard]] std::string text() && {
        std::erase_if(families_, [](const MetricFamily& family) { return family.metric.empty(); });
        return prometheus::TextSerializer().Serialize(families_);
    }

private:
    void begin(std::string_view prefix, std::string_view name, std::string_view help, MetricType type) {
        MetricFamily& family = families_.emplace_back();
        family.name.append(prefix).append(name);
        family.help = help;
        family.type = type;
    }

    std::vector<MetricFamily> families_;
};

Labels labels(std::string name, std::string_view value) { return {{std::move(name), std::string(value)}}; }

using State = Metrics::State;

void write_identity(Page& page, const State& state) {
    page.gauge("build_info", "Version of this perfvigild; always 1.");
    page.add({{"version", state.options.version}, {"revision", state.options.revision}}, 1);
    page.gauge("degraded", "1 while a capability is missing or reduced; the log and perfvigil status say what to do.");
    for (const auto& [reason, holds] : state.degraded) page.add(labels("reason", reason), holds ? 1 : 0);
}

void write_events(Page& page, const State& state) {
    const auto each = [&](auto&& value) {
        for (const EventSums& event : state.events) page.add(labels("event", event.name), value(event));
    };
    page.counter("samples_total", "Samples received, idle ones included.");
    each([](const EventSums& event) { return as_double(event.samples); });
    page.counter("lost_samples_total",
                 "Samples that found no room in a ring; event \"(any)\": by kernels that do not say whose.");
    each([](const EventSums& event) { return as_double(event.lost); });
    if (state.shared_lost > 0) page.add(labels("event", "(any)"), as_double(state.shared_lost));
    page.counter("throttles_total", "Times the kernel stopped an event for exceeding perf_event_max_sample_rate.");
    each([](const EventSums& event) { return as_double(event.throttles); });
    page.counter("throttled_seconds_total", "Time for which the kernel kept an event stopped, all CPUs.");
    each([](const EventSums& event) { return to_seconds(event.throttled); });
    page.counter("sampled_events_total", "Sum of the samples' periods: how many events they stand for.");
    for (const EventSums& event : state.events) {
        if (!event.clock) page.add(labels("event", event.name), as_double(event.weight));
    }
    page.gauge("sampling_frequency_hertz", "Samples per second asked for, per CPU.");
    for (const EventSums& event : state.events) {
        if (event.frequency > 0) page.add(labels("event", event.name), event.frequency);
    }
    if (state.cycles_recorded) {
        page.counter(
            "cycles_counted_total",
            "CPU cycles by the hardware counter, all CPUs; sampled_events_total says how many samples explain.",
            as_double(state.cycles_counted));
        page.counter("cycles_sampled_total", "CPU cycles that samples stand for, all CPUs.",
                     as_double(state.cycles_sampled));
        page.counter("cycles_idle_total", "CPU cycles that samples in the idle loop stand for, all CPUs.",
                     as_double(state.cycles_idle));
    }
}

void write_records(Page& page, const State& state) {
    const auto& session = state.numbers.session;
    if (session) {
        page.counter("records_total", "Records read from the rings.");
        page.add(labels("kind", "sample"), as_double(session->samples));
        page.add(labels("kind", "other"), as_double(session->records - std::min(session->records, session->samples)));
    }
    page.counter("lost_records_total", "Notices of loss in sample rings; records lost from side-band rings.");
    if (session) page.add(labels("kind", "sample"), as_double(session->lost_sample_records));
    page.add(labels("kind", "side_band"), as_double(session ? session->lost_side_band_records : state.lost_side_band));
    page.counter("late_records_total", "Records that came after their slice had been closed; counted in the next one.",
                 as_double(session ? session->late_records : state.late_records));
    page.counter("cut_frames_total", "Frames dropped because a slice reached its memory limit.",
                 as_double(state.cut_frames));
    if (!session) return;
    page.counter("malformed_records_total", "Records that broke their format.", as_double(session->malformed_records));
    page.counter("unknown_id_records_total", "Records of an event that is not ours.", as_double(session->unknown_ids));
    page.counter("duplicate_samples_total", "Samples discarded while two generations of events overlapped.",
                 as_double(session->duplicate_samples));
    page.counter("resyncs_total", "Times mappings were read from /proc again after side-band loss.",
                 as_double(session->resyncs));
    page.counter("cpu_hotplug_total", "CPUs that went offline or came online while recording.");
    page.add(labels("direction", "offline"), as_double(session->cpus_gone));
    page.add(labels("direction", "online"), as_double(session->cpus_back));
    page.gauge("ring_bytes", "Memory of all ring buffers, pinned and outside the resident set.",
               as_double(session->ring_bytes));
}

void write_ledger(Page& page, const State& state) {
    std::int64_t idle_unsampled = 0;
    std::int64_t stolen = 0;
    std::int64_t unexplained = 0;
    for (const auto& [cpu, sums] : state.cpus) {
        idle_unsampled += sums.idle_unsampled.high;
        stolen += sums.stolen.high;
        unexplained += sums.unexplained.high;
    }
    const analyzer::ClockLedger& ledger = state.ledger;
    page.counter("clock_ledger_seconds_total",
                 "Where the recorded CPU time went, all CPUs; unexplained: what no other term accounts for.");
    const auto term = [&](std::string_view name, std::int64_t ns) {
        page.add(labels("term", name), ns_to_seconds(as_double(ns)));
    };
    term("busy", ledger.busy);
    term("idle", ledger.idle);
    term("irq_in_idle", ledger.irq_in_idle);
    term("lost", ledger.lost);
    term("throttled", ledger.throttled);
    term("idle_unsampled", idle_unsampled);
    term("stolen", stolen);
    term("unexplained", unexplained);
    page.counter("clock_enabled_seconds_total", "Time the clock event was counting, all CPUs: what the ledger divides.",
                 ns_to_seconds(as_double(ledger.total)));
    page.counter("clock_ticks_due_total", "Clock samples that were due in that time.", state.ticks_due);
}

// Rows of the per-CPU families: a CPU each, or, on a host with too many of them, the whole and the extremes.
struct CpuRow {
    std::string name;
    const analyzer::Busy* busy = nullptr;
    double effective_hertz = 0;
};

std::vector<CpuRow> host_rows(const State& state, const analyzer::Busy& host) {
    std::vector<CpuRow> rows;
    if (host.known) rows.push_back({"all", &host, analyzer::effective_hertz(state.host, state.idle_hertz)});
    const CpuSums* least = nullptr;
    const CpuSums* most = nullptr;
    double slowest = std::numeric_limits<double>::infinity();
    double fastest = 0;
    for (const auto& [number, sums] : state.cpus) {
        if (!sums.in_last_slice || !sums.busy.known) continue;
        if (least == nullptr || sums.busy.ratio < least->busy.ratio) least = &sums;
        if (most == nullptr || sums.busy.ratio > most->busy.ratio) most = &sums;
        if (sums.effective_hertz <= 0) continue;
        slowest = std::min(slowest, sums.effective_hertz);
        fastest = std::max(fastest, sums.effective_hertz);
    }
    if (least == nullptr) return rows;
    rows.push_back({"min", &least->busy, fastest > 0 ? slowest : 0});
    rows.push_back({"max", &most->busy, fastest});
    return rows;
}

std::vector<CpuRow> cpu_rows(const State& state) {
    std::vector<CpuRow> rows;
    for (const auto& [number, sums] : state.cpus) {
        if (!sums.in_last_slice || !sums.busy.known) continue;
        rows.push_back({std::to_string(number), &sums.busy, sums.effective_hertz});
    }
    return rows;
}

void write_kernel_accounts(Page& page, const State& state, bool each) {
    page.gauge(
        "cpu_busy_disagreement_ratio",
        "How far busy by /proc/stat lay outside the interval of cpu_busy_ratio in the last slice; 0: they agree.");
    std::optional<double> furthest;
    for (const auto& [number, sums] : state.cpus) {
        if (!sums.in_last_slice || !sums.disagreement) continue;
        if (each) page.add(labels("cpu", std::to_string(number)), *sums.disagreement);
        if (std::abs(*sums.disagreement) >= std::abs(furthest.value_or(0))) furthest = sums.disagreement;
    }
    if (!each && furthest) page.add(labels("cpu", "max"), *furthest);
    page.counter("cpu_run_delay_seconds_total",
                 "Time that runnable tasks waited for a CPU, each counted by itself (/proc/schedstat).");
    Nanoseconds waited{};
    for (const auto& [number, delay] : state.run_delays) {
        if (each) page.add(labels("cpu", std::to_string(number)), to_seconds(delay));
        waited += delay;
    }
    if (!each && waited.count() > 0) page.add(labels("cpu", "all"), to_seconds(waited));
}

void write_cpus(Page& page, const State& state) {
    const bool each = state.cpus.size() <= state.options.max_cpus;
    const analyzer::Busy host = analyzer::busy_of(state.host);
    const std::vector<CpuRow> rows = each ? cpu_rows(state) : host_rows(state, host);

    page.gauge("cpu_busy_ratio", "Share of the last slice in which the CPU was not idle.");
    for (const CpuRow& row : rows) page.add(labels("cpu", row.name), row.busy->ratio);
    page.gauge("cpu_busy_ratio_low", "Lower end of the 95 % interval of cpu_busy_ratio.");
    for (const CpuRow& row : rows) page.add(labels("cpu", row.name), row.busy->interval.low);
    page.gauge("cpu_busy_ratio_high", "Upper end of the 95 % interval of cpu_busy_ratio.");
    for (const CpuRow& row : rows) page.add(labels("cpu", row.name), row.busy->interval.high);
    page.gauge(
        "cpu_effective_hertz",
        "Cycles outside idle per busy second of the last slice; absent while the CPU is nearly idle, where samples "
        "do not tell which cycles were counted in idle, and where too much of its work was not counted.");
    for (const CpuRow& row : rows) {
        if (row.effective_hertz > 0) page.add(labels("cpu", row.name), row.effective_hertz);
    }

    write_kernel_accounts(page, state, each);

    page.counter("cpu_seconds_total", "CPU time by what the CPU was doing; unknown: lost, throttled or unexplained.");
    const auto modes = [&](const std::string& name, auto&& time_of) {
        for (std::size_t mode = 0; mode < kCpuModes; ++mode) {
            page.add({{"cpu", name}, {"mode", std::string(kCpuModeNames[mode])}},
                     ns_to_seconds(as_double(time_of(mode))));
        }
    };
    if (each) {
        for (const auto& [number, sums] : state.cpus) {
            modes(std::to_string(number), [&](std::size_t mode) { return sums.shown(mode); });
        }
    } else {
        modes("all", [&](std::size_t mode) {
            std::int64_t sum = 0;
            for (const auto& [number, sums] : state.cpus) sum += sums.shown(mode);
            return sum;
        });
    }
}

template <class Split>
void write_family(Page& page, const HotspotFamily& family, double unit, Split&& labels_of) {
    for (const auto& series : family.series()) page.add(labels_of(series.name), as_double(series.value) / unit);
    page.add(labels_of(kOther), as_double(family.other()) / unit);
}

void write_hotspots(Page& page, const State& state) {
    const auto of_function = [](std::string_view name) -> Labels {
        const auto line = name.find('\n');
        if (line == std::string_view::npos) return {{"function", std::string(name)}, {"dso", std::string(name)}};
        return {{"function", std::string(name.substr(0, line))}, {"dso", std::string(name.substr(line + 1))}};
    };
    page.counter("function_cpu_seconds_total",
                 "CPU time in a function itself, by clock samples, idle excluded. The series add up to all of it.");
    write_family(page, state.functions, kNsPerSecond, of_function);
    if (state.cycles_recorded) {
        page.counter(
            "function_cycles_total",
            "CPU cycles in a function itself, by samples of the cycles event. The series add up to all of them.");
        write_family(page, state.functions_by_cycles, 1, of_function);
    }
    page.counter("dso_cpu_seconds_total",
                 "CPU time in a binary, by clock samples, idle excluded. The series add up to all of it.");
    write_family(page, state.dsos, kNsPerSecond, [](std::string_view name) { return labels("dso", name); });
    page.counter("unit_cpu_seconds_total",
                 "CPU time of a systemd unit, by clock samples, idle excluded. The series add up to all of it.");
    const auto of_unit = [](std::string_view name) { return labels("unit", name); };
    write_family(page, state.units, kNsPerSecond, of_unit);
    page.counter("unit_throttled_seconds_total", "Time that a unit's own CPU limit kept it from running (cpu.stat).");
    if (state.units_throttled) write_family(page, state.throttled_units, kNsPerSecond, of_unit);
    page.counter("security_tax_cpu_seconds_total",
                 "CPU time that mitigations and hardening took, by kind, from windows as they close.");
    for (const auto& [kind, weight] : state.security_tax)
        page.add(labels("kind", kind), as_double(weight) / kNsPerSecond);
    page.gauge("unit_build_info", "The main program of a systemd unit in the last window: always 1.");
    for (const auto& row : state.unit_builds) {
        page.add({{"unit", row.unit},
                  {"program", row.program},
                  {"build_id", row.build_id},
                  {"package", row.package},
                  {"version", row.package_version}},
                 1);
    }
}

void write_quality(Page& page, const State& state) {
    page.gauge("unresolved_ratio", "Share of recent busy time whose function has no name, by why not.");
    for (const auto& [reason, share] : state.unresolved) {
        page.add(labels("reason", analyzer::reason_name(reason)), share.ratio());
    }
    page.gauge(
        "broken_stack_ratio",
        "Share of recent samples through a binary whose call chain ends there at an address outside every mapping.");
    std::vector<std::pair<std::string_view, const RecentShare*>> rows;
    for (const auto& [dso, share] : state.broken) {
        if (share.part >= 1) rows.emplace_back(dso, &share);
    }
    std::ranges::sort(rows, [](const auto& a, const auto& b) {
        return std::pair(-a.second->part, a.first) < std::pair(-b.second->part, b.first);
    });
    rows.resize(std::min(rows.size(), state.options.max_broken_dsos));
    for (const auto& [dso, share] : rows) page.add(labels("dso", dso), share->ratio());

    page.counter("slices_total", "Slices accounted.", as_double(state.slices));
    page.counter("slices_marked_total", "Slices whose numbers carry a caveat; docs/metrics.md explains the marks.");
    page.add(labels("mark", "maps_suspect"), as_double(state.slices_maps_suspect));
    page.add(labels("mark", "clock_stepped"), as_double(state.slices_clock_stepped));
    page.add(labels("mark", "idle_by_task"), as_double(state.slices_idle_by_task));
    if (state.slices > 0) {
        page.gauge("last_slice_end_timestamp_seconds", "End of the last slice in these numbers, Unix time.",
                   ns_to_seconds(as_double(state.last_wall_end.time_since_epoch().count())));
    }
}

void write_upkeep(Page& page, const State& state) {
    const DaemonNumbers& numbers = state.numbers;
    page.gauge("slice_analysis_seconds", "Time the last slice took from the queue to these numbers.",
               to_seconds(numbers.slice_analysis));
    page.counter("windows_total", "Windows by what became of them; partial ones are stored too.");
    page.add(labels("result", "stored"), as_double(numbers.windows.stored));
    page.add(labels("result", "partial"), as_double(numbers.windows.partial));
    page.add(labels("result", "dropped"), as_double(numbers.windows.dropped));
    page.add(labels("result", "failed"), as_double(numbers.windows.failed));
    page.gauge("store_bytes", "Bytes on disk.");
    page.add(labels("kind", "profiles"), as_double(numbers.store.profiles));
    page.add(labels("kind", "captures"), as_double(numbers.store.captures));
    page.add(labels("kind", "index"), as_double(numbers.store.index));
    page.add(labels("kind", "frozen"), as_double(numbers.store.frozen));
    page.counter("queue_drops_total", "What a full queue between threads had to drop.");
    page.add(labels("queue", "slices"), as_double(numbers.drops.slices));
    page.add(labels("queue", "files"), as_double(numbers.drops.files));
    page.add(labels("queue", "captures"), as_double(numbers.drops.captures));

    page.counter("recording_steps_total",
                 "Changes of the recording; loss, budget: reductions and larger rings; calm: given back.");
    for (std::size_t i = 0; i < kKnobs * kCauses; ++i) {
        page.add({{"what", std::string(kKnobNames[i / kCauses])}, {"cause", std::string(kCauseNames[i % kCauses])}},
                 as_double(numbers.steps[i / kCauses][i % kCauses]));
    }

    page.counter("captures_total", "Captures on demand by what asked for them and what became of them.");
    for (std::size_t t = 0; t < kCaptureTriggerNames.size(); ++t) {
        for (std::size_t r = 0; r < kCaptureResultNames.size(); ++r) {
            page.add(
                {{"trigger", std::string(kCaptureTriggerNames[t])}, {"result", std::string(kCaptureResultNames[r])}},
                as_double(numbers.captures[t][r]));
        }
    }

    page.counter("triggers_fired_total", "How often a rule froze captures and had one made.");
    for (const auto& one : numbers.triggers) page.add(labels("rule", one.rule), as_double(one.fired));
    page.counter("triggers_suppressed_total", "How often it would have, but for its pause or the limit of all rules.");
    for (const auto& one : numbers.triggers) page.add(labels("rule", one.rule), as_double(one.suppressed));

    if (const auto& shipped = numbers.shipped) {
        page.counter("shipped_windows_total", "Windows by what became of them on their way to ship.to.");
        page.add(labels("result", "sent"), as_double(shipped->sent));
        page.add(labels("result", "refused"), as_double(shipped->refused));
        page.add(labels("result", "dropped"), as_double(shipped->dropped));
        page.counter("ship_retries_total", "Tries to ship a window that failed and are made again.",
                     as_double(shipped->retries));
        page.gauge("ship_waiting_windows", "Windows that wait to be shipped.", as_double(shipped->waiting));
    }

    const OverheadNumbers& overhead = numbers.overhead;
    page.counter("overhead_cpu_seconds_total",
                 "CPU time of the profiler; user: its processes, kernel: taking samples, by the cost of one.");
    page.add(labels("where", "user"), to_seconds(overhead.processes));
    page.add(labels("where", "kernel"), to_seconds(overhead.sampling));
    page.gauge("sample_cost_seconds", "Time the kernel needs for one sample.");
    page.add(labels("source", overhead.cost_assumed ? "assumed" : "calibrated"), to_seconds(overhead.cost_per_sample));
    page.gauge("budget_ratio", "Use of a budget; above 1 it is exceeded.");
    for (const BudgetUse& budget : numbers.budgets) {
        if (budget.allowed > 0) page.add(labels("resource", budget.resource), budget.used / budget.allowed);
    }
}

void write_process(Page& page, const ProcessNumbers& process) {
    page.process_counter("cpu_seconds_total", "User and system CPU time of perfvigild itself.");
    page.add({}, process.cpu_seconds);
    const auto gauge = [&](std::string_view name, std::string_view help, double value) {
        page.process_gauge(name, help);
        page.add({}, value);
    };
    gauge("resident_memory_bytes", "Resident set size.", as_double(process.resident_bytes));
    gauge("virtual_memory_bytes", "Size of the address space.", as_double(process.virtual_bytes));
    gauge("open_fds", "Open file descriptors.", as_double(process.open_fds));
    gauge("max_fds", "Most file descriptors it may open.", as_double(process.max_fds));
    gauge("threads", "Threads.", as_double(process.threads));
    gauge("start_time_seconds", "Start of the process, Unix time.", process.start_time_seconds);
}

}  // namespace

std::string Metrics::exposition() const {
    const State& state = *state_;
    Page page;
    write_identity(page, state);
    write_records(page, state);
    write_events(page, state);
    write_ledger(page, state);
    write_cpus(page, state);
    write_hotspots(page, state);
    write_quality(page, state);
    write_upkeep(page, state);
    write_process(page, state.numbers.process);
    return std::move(page).text();
}

}  // namespace perfvigil::daemon
