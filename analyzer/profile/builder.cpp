// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/builder.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/broken_counts.hpp"
#include "analyzer/ledger.hpp"
#include "analyzer/ledger_sum.hpp"
#include "analyzer/profile/events.hpp"
#include "analyzer/profile/frame_functions.hpp"
#include "analyzer/profile/host.hpp"
#include "analyzer/profile/programs.hpp"
#include "analyzer/profile/tables.hpp"
#include "analyzer/profile/throttled_units.hpp"
#include "analyzer/profile/warnings.hpp"
#include "analyzer/slice/moment_tables.hpp"
#include "analyzer/sums.hpp"

namespace perfvigil::analyzer {

using collector::EventIndex;
using collector::EventInfo;

namespace {

constexpr std::uint32_t kNone = HashIndex::kNone;
// Of functions that stay apart by address a moment keeps more, so that the functions they become are still the top.
constexpr std::size_t kTopAddresses = 10 * kTopFunctions;

struct SelfSum {  // of one event, function and context
    std::uint32_t event = 0;
    std::uint32_t function = 0;
    std::uint32_t context = 0;
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};

}  // namespace

struct ProfileBuilder::State {
    State(const std::vector<EventInfo>& event_list, Symbolizer& names)
        : events(event_list), symbolizer(names), totals(event_list) {}

    void begin_window();
    void count_samples(const Slice& slice);
    void count_whole(const Slice& slice);
    void select(SampleSelection selected);
    void redact();
    void translate_stacks(const Slice& slice);
    [[nodiscard]] std::uint32_t context_at_line(const Entry& entry, const Slice& slice);
    void count_entries(const Slice& slice);
    void count_broken(const Slice& slice);
    void count_programs(const Slice& slice);
    void add_cpus(const Slice& slice, ProfileMoment& moment);
    void add_waits(const Slice& slice, ProfileMoment& moment);
    void add_totals(const Slice& slice, ProfileMoment& moment);
    void add_top(ProfileMoment& moment);
    void add_fine(const Slice& slice, Nanoseconds length);
    [[nodiscard]] TopFunctions self_rows();
    [[nodiscard]] SliceHotspots hotspots();

    const std::vector<EventInfo>& events;
    Symbolizer& symbolizer;
    SampleSelection selection;
    bool redacts = false;

    // The window so far.
    bool begun = false;
    std::size_t slices = 0;
    ProfileTables tables;
    ProfileEvents totals;
    std::vector<ProfileCpu> cpus;  // by ascending CPU
    boost::unordered_flat_map<CpuId, LedgerSum> ledgers;
    std::vector<ProfileMoment> moments;
    std::optional<FineMoments> fine;
    Nanoseconds fine_part{};     // of `fine`
    Nanoseconds parts_length{};  // of the open slice
    BrokenCounts broken;
    UnitPrograms programs;
    ThrottledUnits throttled_units;
    WindowFacts facts;
    MonotonicTime first_start{};
    WallTime wall_end{};
    Nanoseconds duration{};
    bool partial = false;
    bool maps_suspect = false;

    SampledCodes codes;  // with by_line, inlined or lines: instructions so far
    FrameFunctions frames{symbolizer, tables, codes};

    // One slice, translated; by position in the slice.
    std::vector<std::uint32_t> stacks;
    std::vector<std::uint32_t> leaves;  // of stacks: the innermost function
    std::vector<std::uint32_t> contexts;
    std::vector<std::uint64_t> actor_samples;
    std::vector<std::uint64_t> stack_samples;  // of the event that broken stacks are counted by
    Sums<SelfSum> self;
    std::vector<std::uint32_t> scratch;
};

ProfileBuilder::ProfileBuilder(const std::vector<EventInfo>& events, Symbolizer& symbolizer)
    : state_(std::make_unique<State>(events, symbolizer)) {}

ProfileBuilder::~ProfileBuilder() = default;

std::vector<SampledCode> ProfileBuilder::take_codes() { return state_->codes.take(); }

std::size_t ProfileBuilder::slices() const { return state_->slices; }

SliceHotspots ProfileBuilder::add(const Slice& slice) {
    State& state = *state_;
    state.begin_window();
    if (state.slices == 0) state.first_start = slice.start;
    ++state.slices;
    state.wall_end = slice.wall_end;
    const Nanoseconds length = std::max(Nanoseconds{}, slice.end - slice.start);
    state.duration += length;
    state.partial |= slice.clock_stepped;
    state.maps_suspect |= slice.maps_suspect;
    state.facts.note(slice);

    ProfileMoment moment;
    moment.wall_end = slice.wall_end;
    moment.length = length;
    state.count_samples(slice);
    state.add_fine(slice, length - std::min(length, std::exchange(state.parts_length, {})));
    state.add_totals(slice, moment);
    state.count_whole(slice);
    state.add_cpus(slice, moment);
    state.add_waits(slice, moment);
    state.add_top(moment);
    state.moments.push_back(std::move(moment));
    return state.hotspots();
}

void ProfileBuilder::set_selection(SampleSelection selection) { state_->select(std::move(selection)); }

void ProfileBuilder::State::select(SampleSelection selected) {
    selection = std::move(selected);
    if (selection.apart()) frames.keep_apart();
}

void ProfileBuilder::redact_paths() { state_->redact(); }

void ProfileBuilder::State::redact() {
    redacts = true;
    frames.redact();
    programs.redact_paths();
}

void ProfileBuilder::split_hybrid() { state_->totals.split_hybrid(); }

void ProfileBuilder::add_left_out(const Slice& slice) {
    state_->begin_window();
    state_->count_whole(slice);
}

void ProfileBuilder::set_fine_moments(Nanoseconds part) {
    state_->fine_part = part;
    state_->fine.emplace(part);
}

void ProfileBuilder::add_part(const Slice& part) {
    State& state = *state_;
    state.begin_window();
    const Nanoseconds length = std::max(Nanoseconds{}, part.end - part.start);
    state.parts_length += length;
    state.facts.note(part);
    state.count_samples(part);
    state.add_fine(part, length);
}

void ProfileBuilder::State::begin_window() {
    if (std::exchange(begun, true)) return;
    symbolizer.begin_window();
    totals.clear();
}

// --- samples

void ProfileBuilder::State::count_samples(const Slice& slice) {
    symbolizer.begin_slice(slice.start, slice.end);
    frames.name(slice);
    translate_stacks(slice);
    count_entries(slice);
    count_broken(slice);
    count_programs(slice);
}

void ProfileBuilder::State::translate_stacks(const Slice& slice) {
    stacks.clear();
    leaves.clear();
    for (const Stack& stack : slice.stacks) {
        scratch.clear();
        for (const auto frame : slice.frames_of(stack)) scratch.push_back(frames.function(frame));
        leaves.push_back(scratch.front());
        stacks.push_back(tables.stack(scratch, stack.flags));
    }
    contexts.clear();
    for (const Actor& actor : slice.actors) {
        ContextPart part{.pid = {}, .tid = actor.tid, .cpu = actor.cpu};
        if (selection.by_pid) part.pid = actor.pid;
        contexts.push_back(tables.context(actor.comm, actor.cgroup_path, part));
    }
}

// The entry's context with its instruction as the line, to be named when all are known.
std::uint32_t ProfileBuilder::State::context_at_line(const Entry& entry, const Slice& slice) {
    const Frame& frame = slice.frames[slice.frames_of(slice.stacks[entry.stack]).front()];
    ProfileContext context = tables.context_at(contexts[entry.actor]);
    // Code without a Dso has no line: it counts in no position.
    context.source_line = std::to_string(frames.code(frame));
    return tables.context(context);
}

void ProfileBuilder::State::count_entries(const Slice& slice) {
    self.clear();
    for (const Entry& entry : slice.entries) {
        const std::uint32_t event = totals.number_of(entry.event);
        if (event == kNone) continue;
        const std::uint32_t context = selection.by_line ? context_at_line(entry, slice) : contexts[entry.actor];
        tables.count(event, stacks[entry.stack], context, entry.idle, entry.samples, entry.weight);
        if (entry.idle) {
            totals[event].idle_samples += entry.samples;
            totals[event].idle_weight += entry.weight;
            continue;
        }
        const std::uint32_t function = leaves[entry.stack];
        const std::uint64_t hash = mix(mix(hash_seed(), (std::uint64_t{function} << 32U) | context), event);
        SelfSum& sum = self.at(hash, [&](const SelfSum& known) {
            return known.function == function && known.context == context && known.event == event;
        });
        sum.event = event;
        sum.function = function;
        sum.context = context;
        sum.samples += entry.samples;
        sum.weight += entry.weight;
    }
}

void ProfileBuilder::State::count_broken(const Slice& slice) {
    const bool has_clock = std::ranges::any_of(events, [](const EventInfo& info) {
        return info.role == collector::EventRole::kSampling && info.nominal_period().count() > 0;
    });
    stack_samples.assign(slice.stacks.size(), 0);
    for (const Entry& entry : slice.entries) {
        if (totals.number_of(entry.event) == kNone) continue;
        if (has_clock && events[entry.event.value].nominal_period().count() == 0) continue;
        stack_samples[entry.stack] += entry.samples;
    }
    broken.add(slice, stack_samples, frames, tables);
}

void ProfileBuilder::State::count_programs(const Slice& slice) {
    actor_samples.assign(slice.actors.size(), 0);
    for (const Entry& entry : slice.entries) {
        if (!entry.idle && totals.number_of(entry.event) != kNone) actor_samples[entry.actor] += entry.samples;
    }
    for (std::size_t i = 0; i < actor_samples.size(); ++i) {
        const Actor& actor = slice.actors[i];
        programs.add(actor.cgroup_path, actor.program, actor_samples[i], symbolizer);
    }
}

// --- small parts

void ProfileBuilder::State::add_totals(const Slice& slice, ProfileMoment& moment) {
    for (std::size_t i = 0; i < slice.totals.size(); ++i) {
        const std::uint32_t number = totals.number_of(EventIndex{static_cast<std::uint32_t>(i)});
        if (number == kNone) continue;
        const EventTotals& more = slice.totals[i];
        if (moment.totals.size() <= number) moment.totals.resize(number + 1);
        accumulate(moment.totals[number], more);
        totals.add(number, more);
        facts.add_throttles(number, more);
        facts.add_arrived(number, more.samples + more.left_out_samples);
    }
    moment.totals.resize(totals.size());
}

void ProfileBuilder::State::count_whole(const Slice& slice) {
    if (!selection.selects()) return;
    for (std::size_t i = 0; i < slice.totals.size(); ++i) {
        const std::uint32_t number = totals.number_of(EventIndex{static_cast<std::uint32_t>(i)});
        if (number != kNone) totals.add_whole(number, slice.totals[i]);
    }
}

void ProfileBuilder::State::add_cpus(const Slice& slice, ProfileMoment& moment) {
    for (const CpuSlice& cpu : slice.cpus) {
        moment.cpus.push_back({.sum = cpu, .ledger = clock_ledger(cpu), .busy = busy_of(cpu)});
        auto at = std::ranges::lower_bound(cpus, cpu.cpu, {}, [](const ProfileCpu& known) { return known.sum.cpu; });
        if (at == cpus.end() || at->sum.cpu != cpu.cpu) at = cpus.insert(at, ProfileCpu{});
        accumulate(at->sum, cpu);
        ledgers[cpu.cpu].add(cpu);
    }
}

// After the slice's CPUs.
void ProfileBuilder::State::add_waits(const Slice& slice, ProfileMoment& moment) {
    for (const auto& row : slice.waits.run_delays) {
        const auto waited = static_cast<std::uint64_t>(std::max(row.waited, Nanoseconds{}).count());
        for (auto* rows : {&moment.cpus, &cpus}) {
            const auto at = std::ranges::find(*rows, row.cpu, [](const ProfileCpu& known) { return known.sum.cpu; });
            if (at != rows->end()) at->run_delay_ns += waited;
        }
    }
    for (const auto& row : slice.waits.throttled) throttled_units.add(throttled_unit(row));
}

void ProfileBuilder::State::add_top(ProfileMoment& moment) {
    moment.top = self_rows();
    // A function's rows of several contexts become one.
    merge_rows(moment.top);
    keep_top(moment.top, selection.apart() ? kTopAddresses : kTopFunctions);
}

TopFunctions ProfileBuilder::State::self_rows() {
    TopFunctions rows;
    rows.reserve(self.rows().size());
    for (const SelfSum& sum : self.rows()) {
        rows.push_back({.event = sum.event, .function = sum.function, .samples = sum.samples, .weight = sum.weight});
    }
    return rows;
}

void ProfileBuilder::State::add_fine(const Slice& slice, Nanoseconds length) {
    if (!fine) return;
    std::vector<EventTotals> counted;
    for (const Entry& entry : slice.entries) {
        const std::uint32_t event = totals.number_of(entry.event);
        if (event == kNone) continue;
        if (counted.size() <= event) counted.resize(event + 1);
        counted[event].samples += entry.samples;
        counted[event].weight += entry.weight;
    }
    fine->add(length, self_rows(), counted);
}

SliceHotspots ProfileBuilder::State::hotspots() {
    SliceHotspots result;
    result.rows.reserve(self.rows().size());
    for (const SelfSum& sum : self.rows()) {
        const ProfileFunction& function = tables.function_at(sum.function);
        result.rows.push_back({.function = function.name,
                               .dso = function.dso,
                               .unit = tables.context_at(sum.context).unit,
                               .event = totals.index_of(sum.event).value,
                               .samples = sum.samples,
                               .weight = sum.weight,
                               .reason = function.reason});
    }
    return result;
}

Profile ProfileBuilder::build(const collector::HostFacts& host, std::string id) {
    State& state = *state_;
    Profile profile;
    profile.id = std::move(id);
    profile.duration = state.duration;
    profile.end = state.wall_end;
    if (state.wall_end == WallTime{} && host.wall_reference != WallTime{}) {
        profile.end = host.wall_reference + ((state.first_start + state.duration) - host.monotonic_reference);
    }
    profile.start = profile.end - (profile.end == WallTime{} ? Nanoseconds{} : state.duration);
    profile.host = profile_host(host);
    profile.events = state.totals.take();
    profile.programs = state.programs.take(state.symbolizer);
    profile.throttled_units = state.throttled_units.take();
    profile.broken = state.broken.take(state.tables);
    state.tables.hand_over(profile);
    for (auto& cpu : state.cpus) {
        cpu.busy = busy_of(cpu.sum);
        cpu.ledger = state.ledgers[cpu.sum.cpu].ledger();
    }
    profile.cpus = std::move(state.cpus);
    profile.moments = state.fine ? state.fine->take(profile.end, profile.events.size()) : std::move(state.moments);
    profile.partial = state.partial;
    profile.maps_suspect = state.maps_suspect;
    profile.degraded = host.degraded;
    profile.filter = state.selection.text();
    add_warnings(profile, state.events, state.facts);
    auto next = std::make_unique<State>(state.events, state.symbolizer);
    next->select(std::move(state.selection));
    if (state.redacts) next->redact();
    next->totals.inherit(state.totals);
    if (state.fine) {
        next->fine_part = state.fine_part;
        next->fine.emplace(state.fine_part);
    }
    state_ = std::move(next);
    return profile;
}

}  // namespace perfvigil::analyzer
