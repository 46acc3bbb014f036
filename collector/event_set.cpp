// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/event_set.hpp"

#include <algorithm>
#include <cerrno>

namespace perfvigil::collector {
namespace {

// perf's name for its own dummy, which readers of our files know.
constexpr const char* kSideBandName = "dummy:HG";

// What one CPU may say about an event that another one has.
bool missing_here(int error_number) {
    return error_number == ENOENT || error_number == ENXIO || error_number == EOPNOTSUPP || error_number == EBUSY ||
           error_number == ENODEV;
}

}  // namespace

std::vector<EventIndex> add_events(EventTable& table, const RecordingPlan& plan, const RecordingOptions& options) {
    std::vector<EventIndex> indices;
    for (const EventSpec& event : plan.events) {
        const EventAttr attr = build_sampling_attr(event, options, plan.tuning, plan.features, plan.kernel_max_stack);
        indices.push_back(table.add_event({event.name, EventRole::kSampling, attr}));
    }
    const EventAttr side_band = build_side_band_attr(options, plan.features);
    indices.push_back(table.add_event({kSideBandName, EventRole::kSideBand, side_band}));
    return indices;
}

std::optional<Counter> CpuRings::read(std::size_t i) {
    return ring(instances_[i].kind).read(places_[i].event, places_[i].thread);
}

void CpuRings::note_sample(EventId id) {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        if (instances_[i].id != id || sampled_[i]) continue;
        sampled_[i] = true;
        --awaited_;
        return;
    }
}

EventSet::EventSet(EventKernel& kernel, EventTable& table, RecordingOptions options, RecordingPlan plan,
                   std::vector<EventIndex> indices, std::uint32_t generation)
    : kernel_(kernel),
      table_(table),
      options_(std::move(options)),
      plan_(std::move(plan)),
      indices_(std::move(indices)),
      generation_(generation) {}

EventSet::~EventSet() {
    while (!cpus_.empty()) close_cpu(cpus_.back()->cpu());
}

EventAttr EventSet::attr_of(std::size_t event) const {
    if (event == plan_.events.size()) return build_side_band_attr(options_, plan_.features);
    return build_sampling_attr(plan_.events[event], options_, plan_.tuning, plan_.features, plan_.kernel_max_stack);
}

RecordLayout EventSet::layout(RingKind kind) const {
    return RecordLayout::of(attr_of(kind == RingKind::kSamples ? 0 : plan_.events.size()));
}

std::expected<void, CpuOpenFailure> EventSet::open_cpu(CpuId cpu) {
    auto rings = std::make_unique<CpuRings>();
    rings->cpu_ = cpu;
    plan_.learn_core_type(kernel_, cpu);
    const auto events = open_samples(*rings);
    if (!events) return std::unexpected(events.error());
    if (auto opened = open_side_band(*rings); !opened) return opened;
    register_instances(*rings, RingKind::kSamples, *events);
    register_instances(*rings, RingKind::kSideBand, {plan_.events.size()});
    const auto place = std::ranges::lower_bound(cpus_, cpu, {}, [](const auto& open) { return open->cpu(); });
    cpus_.insert(place, std::move(rings));
    return {};
}

// Which of the plan's events this CPU has.
std::expected<std::vector<std::size_t>, CpuOpenFailure> EventSet::open_samples(CpuRings& rings) {
    std::vector<std::size_t> events;
    for (std::size_t i = 0; i < plan_.events.size(); ++i) {
        if (plan_.is_for(plan_.events[i], rings.cpu_)) events.push_back(i);
    }
    if (events.empty()) {
        return std::unexpected(
            CpuOpenFailure{rings.cpu_, plan_.events.front().name, {OpenFailure::Step::kOpen, ENODEV, 0}});
    }
    std::vector<MissingEvent> missing;
    for (;;) {
        RingRequest request{rings.cpu_, plan_.tids(), {}, plan_.tuning.sample_ring_bytes};
        for (const std::size_t event : events) request.events.push_back(attr_of(event));
        auto opened = kernel_.open(request);
        if (opened) {
            rings.samples_ = std::move(*opened);
            missing_.insert(missing_.end(), missing.begin(), missing.end());
            return events;
        }
        const OpenFailure& failure = opened.error();
        if (failure.step == OpenFailure::Step::kMap)
            return std::unexpected(CpuOpenFailure{rings.cpu_, "ring", failure});
        const std::string& name = plan_.events[events[failure.event]].name;
        // A clock is on every CPU that is online; whatever it says is about the CPU.
        const bool clock = attr_of(events[failure.event]).is_clock();
        if (clock || events.size() == 1 || !missing_here(failure.error_number)) {
            return std::unexpected(CpuOpenFailure{rings.cpu_, name, failure});
        }
        missing.push_back({rings.cpu_, name, failure.error_number});
        events.erase(events.begin() + static_cast<std::ptrdiff_t>(failure.event));
    }
}

std::expected<void, CpuOpenFailure> EventSet::open_side_band(CpuRings& rings) {
    const std::size_t dummy = plan_.events.size();
    auto opened = kernel_.open({rings.cpu_, plan_.tids(), {attr_of(dummy)}, plan_.tuning.side_band_ring_bytes});
    if (!opened) {
        const bool map = opened.error().step == OpenFailure::Step::kMap;
        return std::unexpected(CpuOpenFailure{rings.cpu_, map ? "side-band ring" : "side-band", opened.error()});
    }
    rings.side_band_ = std::move(*opened);
    return {};
}

void EventSet::register_instances(CpuRings& rings, RingKind kind, const std::vector<std::size_t>& events) {
    const bool whole_cpu = plan_.threads.empty();
    const std::size_t threads = whole_cpu ? 1 : plan_.threads.size();
    for (std::size_t i = 0; i < events.size(); ++i) {
        const EventAttr attr = attr_of(events[i]);
        for (std::size_t thread = 0; thread < threads; ++thread) {
            const auto counter = rings.ring(kind).read(i, thread);
            if (!counter) continue;  // its records will be counted as of an unknown id
            OpenInstance instance{counter->id, indices_[events[i]], RecordLayout::of(attr), rings.cpu_, {}, {}, kind};
            instance.pid = whole_cpu ? Pid{-1} : plan_.threads[thread].pid;
            instance.tid = whole_cpu ? Tid{0} : plan_.threads[thread].tid;
            EventInstance known;
            known.event = instance.event;
            if (whole_cpu) known.cpu = rings.cpu_;
            known.generation = generation_;
            known.nominal_period = EventInfo::nominal_period_of(attr);
            known.layout = instance.layout;
            known.period_or_freq = attr.sample_period_or_freq;
            known.max_stack = attr.sample_max_stack;
            table_.add_instance(instance.id, known);
            rings.instances_.push_back(instance);
            rings.places_.push_back({i, thread});
            rings.last_.push_back(*counter);
            rings.sampled_.push_back(!whole_cpu || kind == RingKind::kSideBand);
            if (!rings.sampled_.back()) ++rings.awaited_;
        }
    }
}

void EventSet::close_cpu(CpuId cpu) {
    const auto found = std::ranges::find(cpus_, cpu, [](const auto& rings) { return rings->cpu(); });
    if (found == cpus_.end()) return;
    for (const OpenInstance& instance : (*found)->instances()) table_.remove_instance(instance.id);
    cpus_.erase(found);
    std::erase_if(missing_, [cpu](const MissingEvent& missing) { return missing.cpu == cpu; });
}

int EventSet::enable(CpuRings& rings, RingKind kind) {
    // enable_on_exec does it, at the first instruction of the program that is to be seen.
    if (kind == RingKind::kSamples && options_.start_disabled_until_exec && generation_ == 0) return 0;
    return rings.ring(kind).enable();
}

int EventSet::enable() {
    for (const RingKind kind : {RingKind::kSideBand, RingKind::kSamples}) {
        for (auto& rings : cpus_) {
            if (const int error = enable(*rings, kind); error != 0) return error;
        }
    }
    return 0;
}

int EventSet::enable_cpu(CpuId cpu) {
    for (auto& rings : cpus_) {
        if (rings->cpu() != cpu) continue;
        if (const int error = enable(*rings, RingKind::kSideBand); error != 0) return error;
        return enable(*rings, RingKind::kSamples);
    }
    return ENODEV;
}

void EventSet::disable() {
    for (auto& rings : cpus_) {
        rings->ring(RingKind::kSamples).disable();
        rings->ring(RingKind::kSideBand).disable();
    }
}

bool EventSet::has(CpuId cpu) const {
    return std::ranges::any_of(cpus_, [cpu](const auto& rings) { return rings->cpu() == cpu; });
}

std::uint64_t EventSet::bytes() const { return ring_bytes(plan_.tuning, cpus_.size(), kernel_.page_size()); }

bool EventSet::alive() {
    if (plan_.threads.empty()) return true;
    bool alive = false;
    for (auto& rings : cpus_) alive = rings->ring(RingKind::kSamples).alive() || alive;
    return alive;
}

}  // namespace perfvigil::collector
