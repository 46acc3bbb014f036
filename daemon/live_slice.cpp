// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/live_slice.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "analyzer/idle_cycles.hpp"
#include "analyzer/kernel_accounts.hpp"
#include "analyzer/ledger.hpp"
#include "analyzer/profile/throttled_units.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"
#include "daemon/degraded_json.hpp"
#include "daemon/protocol.hpp"
#include "daemon/time_event.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
namespace field = protocol::field;
using analyzer::ClockLedger;
using analyzer::CpuSlice;
using analyzer::Mode;
using collector::EventRole;

double seconds_of(std::int64_t nanoseconds) { return to_seconds(Nanoseconds(nanoseconds)); }

// Where a CPU's time went, in seconds; the sum is the recorded time.
json::object modes_json(const CpuSlice& cpu, const ClockLedger& ledger) {
    const auto time_in = [&](Mode mode) { return to_seconds(cpu.mode_time[analyzer::index_of(mode)]); };
    const std::int64_t silent = analyzer::silent_time(cpu).count();
    return {{field::kUser, time_in(Mode::kUser)},
            {field::kKernel, time_in(Mode::kKernel)},
            {field::kSoftirq, time_in(Mode::kSoftirq)},
            {field::kIdle, seconds_of(ledger.idle + ledger.idle_unsampled + ledger.throttled - silent)},
            {field::kStolen, seconds_of(ledger.stolen)},
            {field::kUnknown, seconds_of(ledger.lost + silent + std::max<std::int64_t>(ledger.unexplained, 0))}};
}

void add_busy(json::object& out, const CpuSlice& cpu, double idle_hertz) {
    const auto busy = analyzer::busy_of(cpu);
    if (!busy.known) return;
    out[field::kBusy] = busy.ratio;
    out[field::kBusyLow] = busy.interval.low;
    out[field::kBusyHigh] = busy.interval.high;
    out[field::kCoverage] = busy.coverage;
    if (const double hertz = analyzer::effective_hertz(cpu, idle_hertz); hertz > 0) out[field::kEffectiveHertz] = hertz;
}

json::object cpu_json(const CpuSlice& cpu, const ClockLedger& ledger, double idle_hertz) {
    json::object out;
    add_busy(out, cpu, idle_hertz);
    out[field::kSeconds] = seconds_of(ledger.total);
    out[field::kModes] = modes_json(cpu, ledger);
    return out;
}

json::object ledger_json(const ClockLedger& ledger) {
    return {{"total", seconds_of(ledger.total)},
            {"busy", seconds_of(ledger.busy)},
            {"idle", seconds_of(ledger.idle)},
            {"irq_in_idle", seconds_of(ledger.irq_in_idle)},
            {"lost", seconds_of(ledger.lost)},
            {"throttled", seconds_of(ledger.throttled)},
            {"idle_unsampled", seconds_of(ledger.idle_unsampled)},
            {"stolen", seconds_of(ledger.stolen)},
            {"unexplained", seconds_of(ledger.unexplained)}};
}

json::array events_json(const LiveSlice& live) {
    json::array list;
    for (std::size_t i = 0; i < live.events.size() && i < live.slice.totals.size(); ++i) {
        if (live.events[i].role != EventRole::kSampling) continue;
        const auto& totals = live.slice.totals[i];
        list.push_back(json::object{{field::kName, escape(live.events[i].name)},
                                    {field::kSamples, totals.samples},
                                    {field::kLost, totals.lost},
                                    {field::kThrottles, totals.throttles}});
    }
    return list;
}

struct Sum {
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;  // ns
    Nanoseconds throttled{};
    std::uint64_t throttled_periods = 0;
};
template <class Key>
using Sums = std::map<Key, Sum>;

// Heaviest first, no more than kLiveRows of them; the second is the weight of the others.
template <class Key>
std::pair<std::vector<std::pair<Key, Sum>>, std::uint64_t> heaviest(const Sums<Key>& sums) {
    std::vector<std::pair<Key, Sum>> rows(sums.begin(), sums.end());
    std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) {
        return std::pair(row.second.weight, row.second.throttled.count());
    });
    std::uint64_t others = 0;
    for (std::size_t i = kLiveRows; i < rows.size(); ++i) others += rows[i].second.weight;
    rows.resize(std::min(rows.size(), kLiveRows));
    return {std::move(rows), others};
}

struct FunctionKey {
    std::string_view function;
    std::string_view dso;
    analyzer::UnknownReason reason{};

    friend auto operator<=>(const FunctionKey&, const FunctionKey&) = default;
};

void add_tables(json::object& out, const LiveSlice& live) {
    const auto time_event = time_event_of(live.events);
    Sums<FunctionKey> functions;
    Sums<std::string_view> units;
    std::uint64_t total = 0;
    for (const auto& row : live.hotspots.rows) {
        if (row.event != time_event) continue;
        total += row.weight;
        for (Sum* sum : {&functions[{row.function, row.dso, row.reason}], &units[row.unit]}) {
            sum->samples += row.samples;
            sum->weight += row.weight;
        }
    }
    std::vector<analyzer::ProfileThrottledUnit> throttled;  // holds the names that `units` looks at
    for (const auto& cgroup : live.slice.waits.throttled) throttled.push_back(analyzer::throttled_unit(cgroup));
    for (const auto& row : throttled) {
        units[row.unit].throttled += row.throttled;
        units[row.unit].throttled_periods += row.throttled_periods;
    }
    out[field::kCpuSeconds] = seconds_of(static_cast<std::int64_t>(total));

    const auto [function_rows, other_functions] = heaviest(functions);
    json::array list;
    for (const auto& [key, sum] : function_rows) {
        json::object row{{field::kFunction, escape(key.function)},
                         {field::kDso, escape(key.dso)},
                         {field::kSeconds, seconds_of(static_cast<std::int64_t>(sum.weight))},
                         {field::kSamples, sum.samples}};
        if (key.reason != analyzer::UnknownReason::kNone) row[field::kReason] = analyzer::reason_name(key.reason);
        list.push_back(std::move(row));
    }
    out[field::kFunctions] = std::move(list);
    out[field::kOtherFunctionsSeconds] = seconds_of(static_cast<std::int64_t>(other_functions));

    const auto [unit_rows, other_units] = heaviest(units);
    json::array unit_list;
    for (const auto& [unit, sum] : unit_rows) {
        json::object row{{field::kUnit, escape(unit)},
                         {field::kSeconds, seconds_of(static_cast<std::int64_t>(sum.weight))},
                         {field::kSamples, sum.samples}};
        if (sum.throttled_periods > 0) row[field::kThrottledSeconds] = to_seconds(sum.throttled);
        unit_list.push_back(std::move(row));
    }
    out[field::kUnits] = std::move(unit_list);
    out[field::kOtherUnitsSeconds] = seconds_of(static_cast<std::int64_t>(other_units));
}

}  // namespace

std::string live_slice_json(const LiveSlice& live) {
    const auto& slice = live.slice;
    json::object out;
    out[field::kNumber] = live.number;
    out[field::kEnd] = iso_time(slice.wall_end);
    out[field::kDurationSeconds] = to_seconds(slice.end - slice.start);
    CpuSlice host;
    ClockLedger ledger;
    json::array cpus;
    const double idle_hertz = analyzer::idle_cycles_hertz(std::span(slice.cpus));
    for (const auto& cpu : slice.cpus) {
        const auto one = analyzer::clock_ledger(cpu);
        auto row = cpu_json(cpu, one, idle_hertz);
        row[field::kCpu] = cpu.cpu.value;
        cpus.push_back(std::move(row));
        ledger += one;
        analyzer::accumulate(host, cpu);
    }
    // Of the host's sum no effective frequency is told: CPUs differ.
    auto sum = cpu_json(host, ledger, idle_hertz);
    sum.erase(field::kEffectiveHertz);
    out[field::kHost] = std::move(sum);
    out[field::kCpus] = std::move(cpus);
    out[field::kLedger] = ledger_json(ledger);
    out[field::kEvents] = events_json(live);
    add_tables(out, live);
    out[field::kLateRecords] = slice.late_records;
    out[field::kLostSideBand] = slice.lost_side_band;
    out[field::kMapsSuspect] = slice.maps_suspect;
    out[field::kClockStepped] = slice.clock_stepped;
    if (live.cost) {
        out[field::kCost] = json::object{{field::kProcesses, live.cost->processes},
                                         {field::kKernel, live.cost->kernel},
                                         {field::kCaptures, live.cost->captures},
                                         {field::kBudget, live.cost->budget},
                                         {field::kAssumed, live.cost->assumed}};
    }
    return json::serialize(out);
}

std::string live_json(const LiveHead& head, const LiveSlices& slices) {
    const json::object around{{field::kRun, iso_time(head.run)},
                              {field::kState, state_name(head.state)},
                              {field::kHost, escape(head.hostname)},
                              {field::kSliceSeconds, to_seconds(head.slice)},
                              {field::kWindowSeconds, to_seconds(head.window)},
                              {field::kDegraded, degraded_json(head.degraded)}};
    std::string out = json::serialize(around);
    out.back() = ',';
    out.append(1, '"').append(field::kSliceList).append("\":[");
    for (const auto& slice : slices) out.append(slice == slices.front() ? "" : ",").append(*slice);
    return out + "]}\n";
}

}  // namespace perfvigil::daemon
