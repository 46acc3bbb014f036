// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/sample_cost.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

namespace perfvigil::collector {
namespace {

constexpr Nanoseconds kPhase = std::chrono::milliseconds(1);
constexpr std::uint64_t kSamplingPeriod = 50'000;  // ns: some twenty-five samples in a phase
constexpr std::uint64_t kRingBytes = 256U << 10;
constexpr int kDepth = 20;  // frames of the sampled chain, about what programs have
// A phase with fewer samples was not sampled as asked (throttled).
constexpr std::uint64_t kLeastSamples = 10;
constexpr std::size_t kLeastPairs = 8;
constexpr std::size_t kEnoughPairs = 20;
constexpr double kGoodError = 0.05;  // of the median: stop here
constexpr double kMostError = 0.25;  // beyond it the host is too noisy to tell

EventAttr sampling_attr() {
    EventAttr attr;
    attr.type = kTypeSoftware;
    attr.config = kSwCpuClock;
    attr.sample_period_or_freq = kSamplingPeriod;
    attr.sample_type =
        kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime | kSampleCpu | kSamplePeriod | kSampleCallchain;
    attr.set(kFlagDisabled);
    attr.set(kFlagExcludeGuest);
    return attr;
}

[[gnu::noinline]] std::uint64_t spin(std::uint64_t turns) {
    std::uint64_t value = turns;
    for (; turns > 0; --turns) {
        value = value * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(value));
    }
    return value;
}

// NOLINTNEXTLINE(misc-no-recursion): the call chain that samples are to walk.
[[gnu::noinline]] std::uint64_t spin_below(int frames, std::uint64_t turns) {
    const std::uint64_t value = frames == 0 ? spin(turns) : spin_below(frames - 1, turns);
    asm volatile("" : : "r"(value) : "memory");  // no tail call
    return value + 1;
}

class PinnedWork final : public SampledWork {
public:
    PinnedWork(std::unique_ptr<EventRing> ring, const cpu_set_t& before, const Clock& clock)
        : ring_(std::move(ring)), affinity_before_(before), clock_(clock) {
        std::uint64_t turns = 10'000;
        Nanoseconds took{};
        while ((took = time_of(turns)) < kPhase / 4) turns *= 2;
        turns_ = static_cast<std::uint64_t>(static_cast<double>(turns) * (to_seconds(kPhase) / to_seconds(took)));
    }
    ~PinnedWork() override { (void)::sched_setaffinity(0, sizeof(affinity_before_), &affinity_before_); }
    PinnedWork(const PinnedWork&) = delete;
    PinnedWork& operator=(const PinnedWork&) = delete;

    WorkPhase run(Sampling sampling) override {
        const bool on = sampling == Sampling::kOn && ring_->enable() == 0;
        const long switches = context_switches();
        WorkPhase phase;
        phase.elapsed = time_of(turns_);
        phase.disturbed = context_switches() != switches;
        if (!on) return phase;
        ring_->disable();
        for (Bytes record = ring_->next(); !record.empty(); record = ring_->next()) ++phase.samples;
        ring_->release();
        return phase;
    }

private:
    Nanoseconds time_of(std::uint64_t turns) {
        const MonotonicTime start = clock_.monotonic();
        (void)spin_below(kDepth, turns);
        return clock_.monotonic() - start;
    }
    static long context_switches() {
        rusage usage{};
        ::getrusage(RUSAGE_THREAD, &usage);
        return usage.ru_nvcsw + usage.ru_nivcsw;
    }

    std::unique_ptr<EventRing> ring_;
    cpu_set_t affinity_before_;
    const Clock& clock_;
    std::uint64_t turns_ = 0;
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

struct Estimate {
    double cost = 0;   // ns
    double error = 0;  // standard error as a share of it
};
Estimate estimate(const std::vector<double>& costs) {
    // The spread of the middle, so that phases with foreign interrupts or stolen time weigh nothing.
    constexpr double kMadToSigma = 1.4826;
    const double middle = median(costs);
    std::vector<double> off;
    off.reserve(costs.size());
    for (const double cost : costs) off.push_back(std::abs(cost - middle));
    const double sigma = kMadToSigma * median(std::move(off)) / std::sqrt(static_cast<double>(costs.size()));
    return {middle, middle > 0 ? sigma / middle : 1};
}

}  // namespace

SampleCost assumed_sample_cost(std::string why) {
    return {.value = kAssumedSampleCost, .assumed = true, .why = std::move(why)};
}

Result<std::unique_ptr<SampledWork>> make_sampled_work(EventKernel& kernel, const Clock& clock) {
    cpu_set_t before;
    if (::sched_getaffinity(0, sizeof(before), &before) != 0) return fail_errno(errno, "sched_getaffinity");
    const int cpu = ::sched_getcpu();
    if (cpu < 0 || cpu >= CPU_SETSIZE) return fail_errno(errno, "sched_getcpu");
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu), &one);
    if (::sched_setaffinity(0, sizeof(one), &one) != 0) return fail_errno(errno, "sched_setaffinity");

    auto ring = kernel.open({.cpu = CpuId{static_cast<std::uint32_t>(cpu)},
                             .threads = {Tid{static_cast<std::int32_t>(::gettid())}},
                             .events = {sampling_attr()},
                             .bytes = kRingBytes});
    if (!ring) {
        (void)::sched_setaffinity(0, sizeof(before), &before);
        return fail_errno(ring.error().error_number, "perf_event_open");
    }
    kernel.seal_descriptors();
    return std::make_unique<PinnedWork>(std::move(*ring), before, clock);
}

SampleCost calibrate_sample_cost(SampledWork& work, const Clock& clock, Nanoseconds limit) {
    using enum SampledWork::Sampling;
    const MonotonicTime until = clock.monotonic() + limit;
    std::vector<double> costs;
    Estimate found;
    for (bool sampled_first = false; clock.monotonic() < until; sampled_first = !sampled_first) {
        // Either order in turn: a clock frequency that drifts favours neither.
        const WorkPhase first = work.run(sampled_first ? kOn : kOff);
        const WorkPhase second = work.run(sampled_first ? kOff : kOn);
        const auto& [sampled, plain] = sampled_first ? std::tie(first, second) : std::tie(second, first);
        if (sampled.disturbed || plain.disturbed || sampled.samples < kLeastSamples) continue;
        costs.push_back(static_cast<double>((sampled.elapsed - plain.elapsed).count()) /
                        static_cast<double>(sampled.samples));
        if (costs.size() < kLeastPairs) continue;
        found = estimate(costs);
        if (costs.size() >= kEnoughPairs && found.error < kGoodError) break;
    }
    if (costs.size() < kLeastPairs) return assumed_sample_cost("the host was too busy to measure it");
    if (found.error > kMostError) return assumed_sample_cost("the host was too noisy to measure it");
    const Nanoseconds cost(std::llround(found.cost));
    if (cost < kLeastSampleCost || cost > kMostSampleCost) {
        return assumed_sample_cost("the measured " + std::to_string(cost.count()) + " ns are not plausible");
    }
    return {.value = cost};
}

SampleCost calibrate_sample_cost(const Clock& clock) {
    const auto work = make_sampled_work(live_kernel(), clock);
    if (!work) return assumed_sample_cost(work.error().message);
    return calibrate_sample_cost(**work, clock);
}

}  // namespace perfvigil::collector
