// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/metrics.hpp"

#include <cmath>

#include "analyzer/idle_cycles.hpp"
#include "analyzer/kernel_accounts.hpp"
#include "analyzer/observations/tax.hpp"
#include "analyzer/profile/throttled_units.hpp"
#include "base/text.hpp"
#include "daemon/hotspot_identity.hpp"
#include "daemon/metrics_state.hpp"
#include "daemon/time_event.hpp"

namespace perfvigil::daemon {
namespace {

using analyzer::index_of;
using analyzer::Mode;
using collector::EventInfo;
using collector::EventRole;

constexpr std::size_t kMaxCachedNames = 16384;
constexpr std::size_t kMaxDegradedReasons = 64;
constexpr std::size_t kMaxBrokenNames = 4096;
// Half-lives of the ratios that look at the recent past.
constexpr double kUnresolvedHalfLife = 60;
constexpr double kBrokenHalfLife = 300;
// Under this many (decayed) samples a binary's share of broken stacks says nothing.
constexpr double kForgottenSamples = 0.5;

double kept_after(Nanoseconds passed, double half_life) {
    return std::exp2(-std::max(0.0, to_seconds(passed)) / half_life);
}

bool counts_cycles(const EventInfo& event) {
    // The upper half of a hardware event's config names the PMU on hybrid machines.
    constexpr std::uint64_t kConfigMask = 0xffffffffU;
    return event.attr.type == collector::kTypeHardware && (event.attr.config & kConfigMask) == collector::kHwCpuCycles;
}

// A function that the kernel brings is nobody's; so is "[vdso]". JIT code is its unit's.
bool brought_by_kernel(std::string_view raw_dso, std::string_view identity) {
    return raw_dso.starts_with('[') && identity != "[jit]" && identity != "[unknown]";
}

double frequency_of(const EventInfo& event, const analyzer::EventTotals& totals, std::optional<std::uint32_t> tuned) {
    if (totals.nominal_period.count() > 0) return 1.0 / to_seconds(totals.nominal_period);
    if (!event.attr.freq()) return 0;
    return static_cast<double>(tuned ? *tuned : event.attr.sample_period_or_freq);
}

}  // namespace

const std::string& IdentityCache::of(std::string_view raw) {
    if (const auto found = known_.find(raw); found != known_.end()) return found->second;
    if (known_.size() >= kMaxCachedNames) known_.clear();
    return known_.emplace(std::string(raw), make_(raw)).first->second;
}

Metrics::State::State(MetricsOptions given)
    : options(std::move(given)),
      functions(options.functions),
      functions_by_cycles(options.functions),
      dsos(options.dsos),
      units(options.units),
      throttled_units(options.units),
      function_names(function_identity),
      dso_names(dso_identity),
      unit_names(unit_identity) {}

EventSums& Metrics::State::event(std::string_view name) {
    // Two events of one name (foreign captures) share a series.
    const auto found = std::ranges::find(events, name, &EventSums::name);
    if (found != events.end()) return *found;
    return events.emplace_back(EventSums{.name = std::string(name)});
}

void Metrics::State::add_events(const analyzer::Slice& slice, const std::vector<EventInfo>& infos) {
    time_event = time_event_of(infos);
    is_cycles.assign(infos.size(), false);
    for (std::size_t i = 0; i < infos.size(); ++i) {
        if (infos[i].role != EventRole::kSampling) continue;
        is_cycles[i] = counts_cycles(infos[i]);
        EventSums& sums = event(bounded_identity(infos[i].name));
        sums.clock = infos[i].attr.is_clock();
        const analyzer::EventTotals none;
        const analyzer::EventTotals& totals = i < slice.totals.size() ? slice.totals[i] : none;
        sums.samples += totals.samples;
        sums.weight += totals.weight;
        sums.throttles += totals.throttles;
        sums.throttled += totals.throttled;
        (totals.lost_is_shared ? shared_lost : sums.lost) += totals.lost;
        sums.frequency = frequency_of(infos[i], totals, numbers.sampling_frequency);
    }
}

void Metrics::State::add_cpus(const analyzer::Slice& slice) {
    for (auto& [number, sums] : cpus) sums.in_last_slice = false;
    host = {};
    idle_hertz = analyzer::idle_cycles_hertz(std::span(slice.cpus));
    for (const analyzer::CpuSlice& cpu : slice.cpus) {
        const analyzer::ClockLedger now = analyzer::clock_ledger(cpu);
        ledger += now;
        CpuSums& sums = cpus[cpu.cpu.value];
        const auto add = [&](CpuMode mode, std::int64_t more) { sums.time[static_cast<std::size_t>(mode)] += more; };
        const auto time_in = [&](Mode mode) { return cpu.mode_time[index_of(mode)].count(); };
        add(CpuMode::kUser, time_in(Mode::kUser));
        add(CpuMode::kKernel, time_in(Mode::kKernel));
        add(CpuMode::kSoftirq, time_in(Mode::kSoftirq));
        const std::int64_t silent = analyzer::silent_time(cpu).count();
        add(CpuMode::kIdle, now.idle + now.throttled - silent);
        add(CpuMode::kUnknown, now.lost + silent);
        sums.ledger.add(cpu);
        const analyzer::ClockLedger so_far = sums.ledger.ledger();
        sums.idle_unsampled.reach(so_far.idle_unsampled);
        sums.stolen.reach(so_far.stolen);
        sums.unexplained.reach(so_far.unexplained);
        sums.in_last_slice = true;
        sums.busy = analyzer::busy_of(cpu);
        sums.effective_hertz = analyzer::effective_hertz(cpu, idle_hertz);
        sums.disagreement = analyzer::busy_disagreement(cpu);
        analyzer::accumulate(host, cpu);
    }
    ticks_due += host.ticks_due;
    cycles_recorded |= host.cycles_recorded;
    cycles_counted += host.cycles_counted;
    cycles_sampled += host.cycles_sampled;
    cycles_idle += host.cycles_idle;
}

void Metrics::State::add_hotspots(const analyzer::SliceHotspots& hotspots, double kept) {
    named.decay(kept);
    for (auto& [reason, share] : unresolved) share.decay(kept);
    for (const auto& row : hotspots.rows) {
        const bool time = row.event == time_event;
        const bool cycles = row.event < is_cycles.size() && is_cycles[row.event];
        if (!time && !cycles) continue;
        const std::string& dso = dso_names.of(row.dso);
        const std::string& unit = unit_names.of(row.unit);
        const std::uint64_t owner = row.unit.empty() || brought_by_kernel(row.dso, dso) ? 0 : stable_hash(unit);
        // A foreign function may be called like this, its Dso not.
        const bool excluded = row.dso == analyzer::kExcluded;
        key.assign(excluded ? analyzer::kExcluded : function_names.of(row.function)).append(1, '\n').append(dso);
        if (cycles) functions_by_cycles.add(key, owner, row.samples, row.weight);
        if (!time) continue;
        functions.add(key, owner, row.samples, row.weight);
        dsos.add(dso, owner, row.samples, row.weight);
        units.add(unit, 0, row.samples, row.weight);
        named.whole += static_cast<double>(row.weight);
        if (row.reason != analyzer::UnknownReason::kNone) {
            unresolved[row.reason].part += static_cast<double>(row.weight);
        }
    }
    // One whole for all reasons, so that their ratios add up.
    for (auto& [reason, share] : unresolved) share.whole = named.whole;
}

// For each binary: samples whose chain passes through it, and those that broke in it.
void Metrics::State::add_broken_stacks(const analyzer::Slice& slice, double kept) {
    for (auto& [dso, share] : broken) share.decay(kept);

    struct Seen {
        RecentShare share;
        std::uint32_t last_entry = 0;
    };
    boost::unordered_flat_map<collector::DsoId, Seen> seen;
    for (const auto& dso : slice.dsos) {
        const bool kernel = dso->kind == collector::DsoKind::kKernel || dso->kind == collector::DsoKind::kKernelCode;
        if (!kernel) seen.emplace(dso->id, Seen{});
    }
    std::uint32_t number = 0;
    for (const analyzer::Entry& entry : slice.entries) {
        ++number;
        if (entry.event.value != time_event || entry.idle) continue;
        const analyzer::Stack& stack = slice.stacks[entry.stack];
        const auto samples = static_cast<double>(entry.samples);
        collector::DsoId previous{};
        for (const std::uint32_t frame : slice.frames_of(stack)) {
            const collector::DsoId dso = slice.frames[frame].dso;
            if (dso == previous) continue;
            previous = dso;
            const auto found = seen.find(dso);
            if (found == seen.end() || found->second.last_entry == number) continue;
            found->second.last_entry = number;
            found->second.share.whole += samples;
        }
        if ((stack.flags & analyzer::kStackBroken) == 0) continue;
        if (const auto found = seen.find(stack.broken_in); found != seen.end()) found->second.share.part += samples;
    }

    for (const auto& dso : slice.dsos) {
        const auto found = seen.find(dso->id);
        if (found == seen.end() || found->second.share.whole == 0) continue;
        const std::string& name = dso_names.of(dso->path);
        if (broken.size() >= kMaxBrokenNames && !broken.contains(name)) continue;
        RecentShare& share = broken[name];
        share.part += found->second.share.part;
        share.whole += found->second.share.whole;
    }
    std::erase_if(broken, [](const auto& entry) { return entry.second.whole < kForgottenSamples; });
}

void Metrics::State::add_waits(const collector::Waits& waits) {
    for (const auto& row : waits.throttled) {
        const auto unit = analyzer::throttled_unit(row);
        throttled_units.add(unit_names.of(unit.unit), 0, unit.throttled_periods,
                            static_cast<std::uint64_t>(std::max<std::int64_t>(unit.throttled.count(), 0)));
    }
    units_throttled |= !waits.throttled.empty();
    for (const auto& row : waits.run_delays) run_delays[row.cpu.value] += row.waited;
}

Metrics::Metrics(MetricsOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Metrics::~Metrics() = default;

void Metrics::add_slice(const analyzer::Slice& slice, const analyzer::SliceHotspots& hotspots,
                        const std::vector<EventInfo>& events, MonotonicTime newest_served) {
    State& state = *state_;
    const Nanoseconds passed = state.slices == 0 ? Nanoseconds{} : slice.end - state.last_end;
    state.add_events(slice, events);
    state.add_cpus(slice);
    state.add_hotspots(hotspots, kept_after(passed, kUnresolvedHalfLife));
    state.add_broken_stacks(slice, kept_after(passed, kBrokenHalfLife));
    state.add_waits(slice.waits);
    for (HotspotFamily* family :
         {&state.functions, &state.functions_by_cycles, &state.dsos, &state.units, &state.throttled_units}) {
        family->close_slice(slice.end, newest_served);
    }
    ++state.slices;
    state.slices_maps_suspect += slice.maps_suspect ? 1 : 0;
    state.slices_clock_stepped += slice.clock_stepped ? 1 : 0;
    state.slices_idle_by_task += slice.idle_by_task ? 1 : 0;
    state.late_records += slice.late_records;
    state.lost_side_band += slice.lost_side_band;
    state.cut_frames += slice.cut_frames;
    state.last_end = slice.end;
    state.last_wall_end = slice.wall_end;
}

void Metrics::State::set_programs(const std::vector<analyzer::ProfileProgram>& programs) {
    unit_builds.clear();
    for (const auto& row : programs) {  // most samples first
        if (unit_builds.size() >= options.max_unit_builds) break;
        if (row.unit.empty() || row.build_id.empty()) continue;
        const std::string& unit = unit_names.of(row.unit);
        // Instances of one unit share a name; the busiest one's program stands for them.
        if (std::ranges::find(unit_builds, unit, &UnitBuild::unit) != unit_builds.end()) continue;
        unit_builds.push_back({.unit = unit,
                               .program = dso_names.of(row.path),
                               .build_id = row.build_id,
                               .package = bounded_identity(row.package),
                               .package_version = bounded_identity(row.package_version)});
    }
    std::ranges::sort(unit_builds, {}, &UnitBuild::unit);
}

// What is in force begins at 0, so that its first seconds are a rise.
void Metrics::State::add_taxes(const analyzer::Profile& profile) {
    for (const auto kind : analyzer::security_taxes_in_force(profile.host)) security_tax.try_emplace(kind, 0);
    const auto clock =
        std::ranges::find(profile.events, analyzer::WeightUnit::kNanoseconds, &analyzer::ProfileEvent::unit);
    if (clock == profile.events.end()) return;
    const auto number = static_cast<std::uint32_t>(clock - profile.events.begin());
    for (const auto& share : analyzer::security_tax(profile, number)) security_tax[share.kind] += share.sum.weight;
}

void Metrics::add_window(const analyzer::Profile& profile) {
    state_->set_programs(profile.programs);
    state_->add_taxes(profile);
}

void Metrics::set(DaemonNumbers numbers) {
    State& state = *state_;
    for (auto& [reason, holds] : state.degraded) holds = false;
    for (const collector::Degraded& one : numbers.degraded) {
        const std::string reason = bounded_identity(one.reason);
        if (state.degraded.contains(reason) || state.degraded.size() < kMaxDegradedReasons) {
            state.degraded[reason] = true;
        }
    }
    state.numbers = std::move(numbers);
}

}  // namespace perfvigil::daemon
