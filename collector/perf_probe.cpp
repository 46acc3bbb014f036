// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/perf_probe.hpp"

#include <sched.h>

#include <cerrno>

#include "collector/negotiation.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint32_t kTrialHertz = 999;
constexpr std::uint64_t kTrialRing = 256U << 10U;

// Keeps the calling thread on the CPU on which it runs, as long as this lives.
class Pinned {
public:
    Pinned() {
        if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
        const int cpu = ::sched_getcpu();
        if (cpu < 0 || cpu >= CPU_SETSIZE) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(cpu), &one);
        if (::sched_setaffinity(0, sizeof one, &one) == 0) cpu_ = CpuId{static_cast<std::uint32_t>(cpu)};
    }
    ~Pinned() {
        if (cpu_) (void)::sched_setaffinity(0, sizeof before_, &before_);
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

    [[nodiscard]] std::optional<CpuId> cpu() const { return cpu_; }

private:
    cpu_set_t before_{};
    std::optional<CpuId> cpu_;
};

void work_until(const Clock& clock, MonotonicTime end) {
    volatile std::uint64_t sink = 1;
    while (clock.monotonic() < end) {
        for (int i = 0; i < 1000; ++i) sink = sink * 6364136223846793005U + 1;
    }
}

std::uint64_t samples_in(EventRing& ring) {
    std::uint64_t samples = 0;
    for (Bytes record = ring.next(); !record.empty(); record = ring.next()) {
        const auto header = peek_header(record);
        samples += header && header->type == kRecordSample ? 1 : 0;
    }
    ring.release();
    return samples;
}

std::optional<EventProbe::Trial> try_event(EventKernel& kernel, const EventAttr& attr, CpuId cpu, const Clock& clock,
                                           const Work& work) {
    auto ring = kernel.open({.cpu = cpu, .threads = {kEveryTask}, .events = {attr}, .bytes = kTrialRing});
    if (!ring) return std::nullopt;
    kernel.seal_descriptors();
    const MonotonicTime begin = clock.monotonic();
    if ((*ring)->enable() != 0) return std::nullopt;
    if (work)
        work(kTrialLength);
    else
        work_until(clock, begin + kTrialLength);
    (*ring)->disable();
    EventProbe::Trial trial{.worked = clock.monotonic() - begin, .hertz = kTrialHertz};
    trial.samples = samples_in(**ring);
    if (const auto counter = (*ring)->read(0, 0)) {
        trial.counted = counter->value;
        trial.lost = counter->lost;
    }
    return trial;
}

}  // namespace

std::vector<EventProbe> probe_events(EventKernel& kernel, const RecordingOptions& options, const Clock& clock,
                                     const Work& work) {
    std::vector<EventProbe> probes;
    const auto online = kernel.online_cpus();
    if (!online) return probes;
    Tuning tuning = options.tuning;
    tuning.frequency = kTrialHertz;
    const Pinned pinned;
    for (EventSpec event : options.events) {
        EventProbe& probe = probes.emplace_back();
        probe.event = event.name;
        event.precise = 0;
        probe.cpus = *online;
        // What every kernel since 4.1 understands: the trial is of the event, not of the features, nor of its
        // precision.
        FeatureSet features;
        features = features.with(Feature::kKernelSamples).with(Feature::kExcludeGuest);
        const auto attr_with = [&](const FeatureSet& set) {
            return build_sampling_attr(event, options, tuning, set, tuning.max_stack);
        };
        EventAttr attr = attr_with(features);
        for (const CpuId cpu : *online) {
            int error = kernel.probe(attr, cpu, kEveryTask);
            if (error == EOPNOTSUPP || error == EINVAL) {
                const EventAttr plain = attr_with(features.without(Feature::kExcludeGuest));
                if (kernel.probe(plain, cpu, kEveryTask) == 0) {
                    attr = plain;
                    error = 0;
                }
            }
            if (error != 0) probe.refusals.push_back({cpu, error});
        }
        if (pinned.cpu()) probe.trial = try_event(kernel, attr, *pinned.cpu(), clock, work);
    }
    return probes;
}

}  // namespace perfvigil::collector
