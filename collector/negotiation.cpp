// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/negotiation.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "collector/tickless.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint64_t kMinRingPages = 8;
constexpr std::int64_t kDefaultMaxStack = 127;  // PERF_MAX_STACK_DEPTH

bool is_cycles(const EventSpec& event) {
    constexpr std::uint64_t kIdMask = 0xffffffff;  // above it: the PMU's type, on hybrid machines
    return event.type == kTypeHardware && (event.config & kIdMask) == kHwCpuCycles;
}

constexpr unsigned kPmuShift = 32;  // PERF_PMU_TYPE_SHIFT

bool contains(const std::vector<CpuId>& list, CpuId cpu) { return std::ranges::find(list, cpu) != list.end(); }

bool is_cpu_clock(const EventSpec& event) { return event.type == kTypeSoftware && event.config == kSwCpuClock; }

bool means_unsupported(int error_number) {
    return error_number == ENOENT || error_number == ENODEV || error_number == ENXIO || error_number == EOPNOTSUPP;
}

class Negotiation {
public:
    Negotiation(EventKernel& kernel, const RecordingOptions& options, CpuId cpu, Negotiated& result)
        : kernel_(kernel), options_(options), cpu_(cpu), result_(result) {}

    Result<void> run() {
        std::vector<EventSpec> accepted;
        bool cycles_missing = false;
        for (const EventSpec& event : events_to_open()) {
            if (one_per_core_type(event, accepted)) continue;
            const auto settled = settle(event, options_);
            if (settled) {
                accepted.push_back(made_precise(event));
            } else if (is_cycles(event) && means_unsupported(settled.error())) {
                cycles_missing = true;
                report_no_pmu(settled.error());
            } else {
                return refuse(event.name, settled.error());
            }
        }
        // Never twice: a second cpu-clock would look like cycles to whoever reads the file.
        if (cycles_missing && std::ranges::none_of(accepted, is_cpu_clock)) {
            const EventSpec clock{"cpu-clock", kTypeSoftware, kSwCpuClock};
            const auto settled = settle(clock, options_);
            if (!settled) return refuse(clock.name, settled.error());
            accepted.push_back(clock);
        }
        plan().events = std::move(accepted);

        const auto side_band =
            settle([&](const FeatureSet& features) { return build_side_band_attr(options_, features); });
        if (!side_band) return refuse("side-band", side_band.error());
        for (const Feature feature : dropped_) result_.degraded.push_back(missing_feature(feature));
        return {};
    }

private:
    using Build = std::function<EventAttr(const FeatureSet&)>;
    RecordingPlan& plan() { return result_.plan; }

    std::vector<EventSpec> events_to_open() {
        if (options_.ticks == Ticks::kMayTurnOn) return options_.events;
        const auto tickless = kernel_.tickless_cpus();
        auto events = events_that_keep_ticks_off(options_.events, tickless);
        if (events.size() != options_.events.size()) {
            result_.degraded.push_back(ticks_kept_off(options_.events, tickless));
        }
        return events;
    }

    // A hardware event on a machine of several core types: an event of each one's PMU. False: an ordinary event, or the
    // kernel knows no events of one PMU; then it chooses by the CPU, and for tasks one PMU for all.
    bool one_per_core_type(const EventSpec& event, std::vector<EventSpec>& accepted) {
        if (event.type != kTypeHardware || event.config >> kPmuShift != 0) return false;
        const std::vector<CorePmu> pmus = kernel_.core_pmus();
        std::vector<EventSpec> of_each;
        bool any = false;
        for (const CorePmu& pmu : pmus) {
            const auto cpu = recorded_cpu(pmu);
            if (!cpu) continue;
            // "cpu_core/cycles/pp", as perf writes it.
            const auto colon = std::min(event.name.find(':'), event.name.size());
            EventSpec own = event;
            own.name = fmt::format("{}/{}/{}", pmu.name, event.name.substr(0, colon),
                                   event.name.substr(std::min(colon + 1, event.name.size())));
            own.config |= pmu.type << kPmuShift;
            const CpuId whole = std::exchange(cpu_, *cpu);
            if (settle(own, options_)) {
                any = true;
                own = made_precise(own);
            }
            cpu_ = whole;
            of_each.push_back(std::move(own));
        }
        if (any) {
            // One that was refused is found missing on its CPUs when they are opened, and reported.
            std::ranges::move(of_each, std::back_inserter(accepted));
            plan().core_pmus = pmus;
        } else if (!of_each.empty() && !std::holds_alternative<AllCpus>(options_.target)) {
            result_.degraded.push_back(
                {"one_core_type",
                 fmt::format("this machine has cores of {} types, and the kernel takes no {} event of one type: what "
                             "tasks do on the others may not be counted",
                             pmus.size(), event.name),
                 "Record whole CPUs."});
        }
        return any;
    }

    std::optional<CpuId> recorded_cpu(const CorePmu& pmu) {
        const auto online = kernel_.online_cpus();
        for (const CpuId cpu : pmu.cpus) {
            if (options_.wants(cpu) && online && contains(*online, cpu)) return cpu;
        }
        return std::nullopt;
    }

    std::unexpected<Error> refuse(std::string_view event, int error_number) {
        if (stack_dumps_are_the_reason(event)) {
            return fail({ErrorCode::kUnsupported, error_number,
                         fmt::format("{}: perf_event_open: {}: this kernel copies no user registers and stacks into "
                                     "samples; record call chains by frame pointers",
                                     event, errno_text(error_number))});
        }
        return fail(open_error(kernel_, options_, event, {OpenFailure::Step::kOpen, error_number, 0}));
    }

    // Whether the event is granted as soon as it need not dump stacks.
    bool stack_dumps_are_the_reason(std::string_view name) {
        const auto event = std::ranges::find(options_.events, name, &EventSpec::name);
        if (options_.call_chains != CallChains::kStackDumps || event == options_.events.end()) return false;
        RecordingOptions without = options_;
        without.call_chains = CallChains::kFramePointers;
        return settle(*event, without).has_value();
    }

    int probe(const Build& build, const FeatureSet& features) {
        for (bool raised = false;; raised = true) {
            const int error = probe_threads(build(features));
            if (error != EMFILE || raised || !kernel_.raise_file_limit()) return error;
        }
    }

    // A thread may have ended since it was listed; the first that lives speaks for all.
    int probe_threads(const EventAttr& attr) {
        int error = ESRCH;
        for (const Tid tid : plan().tids()) {
            error = kernel_.probe(attr, cpu_, tid);
            if (error != ESRCH) break;
        }
        return error;
    }

    // The event without its precision, which no feature's refusal shall be mistaken for.
    std::expected<void, int> settle(EventSpec event, const RecordingOptions& options) {
        event.precise = 0;
        return settle([&](const FeatureSet& features) {
            return build_sampling_attr(event, options, plan().tuning, features, plan().kernel_max_stack);
        });
    }

    // An event that was settled, as precise as was asked or else as the PMU can (perf's precise_ip_fallback).
    EventSpec made_precise(EventSpec event) {
        const auto asked = event.precise;
        int error = 0;
        for (; event.precise > 0; --event.precise) {
            const int refused = probe(
                [&](const FeatureSet& features) {
                    return build_sampling_attr(event, options_, plan().tuning, features, plan().kernel_max_stack);
                },
                plan().features);
            if (refused == 0) break;
            error = refused;
        }
        const bool good_enough = event.precise == asked || (event.as_precise_as_possible && event.precise > 0);
        if (!good_enough) {
            result_.degraded.push_back(
                {"not_precise",
                 fmt::format("{}: perf_event_open: {}: it is recorded with precise_ip {} instead of {}, so samples may "
                             "stand some instructions behind the one that was counted",
                             event.name, errno_text(error), event.precise, asked),
                 "Ask for :P to take what the machine has; virtual machines often have no precise events."});
        }
        return event;
    }

    // Probes an event with ever fewer features, whatever the kernel looks at first. Success leaves plan().features at
    // what worked.
    std::expected<void, int> settle(const Build& build) {
        FeatureSet features = plan().features;
        std::vector<Feature> dropped;
        int error = probe(build, features);
        while (error != 0) {
            const auto feature = suspect(error, build, features);
            if (!feature) return std::unexpected(error);
            features = features.without(*feature);
            dropped.push_back(*feature);
            error = probe(build, features);
        }
        // Dropped on suspicion: each that was not the reason comes back.
        for (const Feature feature : dropped) {
            if (probe(build, features.with(feature)) == 0) features = features.with(feature);
        }
        keep(features);
        return {};
    }

    // What a refusal may be about; nullopt: about the event itself.
    std::optional<Feature> suspect(int error, const Build& build, const FeatureSet& features) {
        const auto asked = [&](Feature feature) {
            return features.has(feature) && build(features) != build(features.without(feature));
        };
        if (error == EACCES && asked(Feature::kKernelSamples) && may_go_without_kernel())
            return Feature::kKernelSamples;
        if (error == EOPNOTSUPP && asked(Feature::kExcludeGuest)) return Feature::kExcludeGuest;
        if (error != EINVAL) return std::nullopt;
        // It does not say what is invalid: the newest goes first.
        const auto* newest = std::ranges::find_if(kFeaturesByAge, asked);
        return newest == kFeaturesByAge.end() ? std::nullopt : std::optional(*newest);
    }

    // kernel/events/core.c: above 1 samples of the kernel need CAP_PERFMON, those of our own tasks do not. (Where
    // the distribution forbids everything above 2 the second probe fails as the first did.)
    bool may_go_without_kernel() {
        if (std::holds_alternative<AllCpus>(options_.target)) return false;
        const auto paranoid = kernel_.setting("perf_event_paranoid");
        return !paranoid || *paranoid >= 2;
    }

    void keep(const FeatureSet& features) {
        for (std::size_t i = 0; i < kFeatureCount; ++i) {
            const auto feature = static_cast<Feature>(i);
            if (plan().features.has(feature) && !features.has(feature)) dropped_.push_back(feature);
        }
        plan().features = features;
    }

    void report_no_pmu(int error_number) {
        result_.degraded.push_back(
            {"no_pmu",
             fmt::format(
                 "cycles: perf_event_open: {}: this machine offers no cycle counter to us, so only cpu-clock is "
                 "recorded; cycles, frequencies and code that runs with interrupts off are not available",
                 errno_text(error_number)),
             "In a virtual machine: let the hypervisor expose a PMU (QEMU/KVM: -cpu host,pmu=on)."});
    }

    EventKernel& kernel_;
    const RecordingOptions& options_;
    CpuId cpu_;
    Negotiated& result_;
    std::vector<Feature> dropped_;
};

std::uint64_t ring_pages(std::uint64_t bytes, std::size_t page_size) {
    const std::uint64_t pages = (bytes + page_size - 1) / page_size;
    return std::bit_ceil(std::max(pages, kMinRingPages));
}

}  // namespace

std::vector<Tid> RecordingPlan::tids() const {
    if (threads.empty()) return {kEveryTask};
    std::vector<Tid> tids;
    tids.reserve(threads.size());
    for (const TargetThread& thread : threads) tids.push_back(thread.tid);
    return tids;
}

bool RecordingPlan::is_for(const EventSpec& event, CpuId cpu) const {
    if (event.type != kTypeHardware || event.config >> kPmuShift == 0) return true;
    const auto pmu = std::ranges::find(core_pmus, event.config >> kPmuShift, &CorePmu::type);
    return pmu == core_pmus.end() || contains(pmu->cpus, cpu);
}

void RecordingPlan::learn_core_type(EventKernel& kernel, CpuId cpu) {
    const auto has_it = [cpu](const CorePmu& pmu) { return contains(pmu.cpus, cpu); };
    if (core_pmus.empty() || std::ranges::any_of(core_pmus, has_it)) return;
    if (auto now = kernel.core_pmus(); std::ranges::any_of(now, has_it)) core_pmus = std::move(now);
}

Result<Negotiated> negotiate(EventKernel& kernel, const RecordingOptions& options, CpuId cpu,
                             std::vector<TargetThread> threads) {
    Negotiated result;
    if (options.call_chains == CallChains::kStackDumps) {
        if (auto fits = check_stack_dump(options.stack_dump_bytes); !fits) return fail(std::move(fits.error()));
        if (kUnwindRegisters == 0) {
            return fail(
                ErrorCode::kUnsupported,
                "stacks can be unwound by tables on x86-64 and arm64 only; record call chains by frame pointers");
        }
    }
    result.plan.threads = std::move(threads);
    result.plan.kernel_max_stack =
        static_cast<std::uint16_t>(kernel.setting("perf_event_max_stack").value_or(kDefaultMaxStack));
    result.plan.tuning = options.tuning;
    if (auto done = Negotiation(kernel, options, cpu, result).run(); !done) return fail(std::move(done.error()));
    return result;
}

Tuning limit_tuning(EventKernel& kernel, const RecordingOptions& options, const Tuning& wanted, std::size_t cpus,
                    std::vector<Degraded>& degraded) {
    Tuning tuning = wanted;
    if (const auto limit = kernel.setting("perf_event_max_sample_rate");
        limit && *limit > 0 && tuning.frequency > static_cast<std::uint64_t>(*limit)) {
        degraded.push_back({"rate_limited",
                            fmt::format("{} Hz were asked for, but kernel.perf_event_max_sample_rate is {}; the kernel "
                                        "lowers it when interrupts take too long",
                                        tuning.frequency, *limit),
                            fmt::format("Set sysctl kernel.perf_event_max_sample_rate={}.", tuning.frequency)});
        tuning.frequency = static_cast<std::uint32_t>(*limit);
    }
    const auto stack_limit =
        std::min<std::int64_t>(kernel.setting("perf_event_max_stack").value_or(kDefaultMaxStack), kMaxStackFrames);
    if (tuning.max_stack > stack_limit) {
        degraded.push_back({"short_chains",
                            fmt::format("chains of {} frames were asked for, {} are recorded "
                                        "(kernel.perf_event_max_stack, and at most {})",
                                        tuning.max_stack, stack_limit, kMaxStackFrames),
                            ""});
        tuning.max_stack = static_cast<std::uint16_t>(stack_limit);
    }
    const std::size_t page = kernel.page_size();
    tuning.sample_ring_bytes = ring_pages(tuning.sample_ring_bytes, page) * page;
    tuning.side_band_ring_bytes = ring_pages(tuning.side_band_ring_bytes, page) * page;
    const std::uint64_t asked = ring_bytes(tuning, cpus, page);
    while (ring_bytes(tuning, cpus, page) > options.rings_total_bytes) {
        if (!halve_rings(tuning, page)) break;
    }
    if (const std::uint64_t now = ring_bytes(tuning, cpus, page); now < asked) {
        degraded.push_back(
            {"small_rings",
             fmt::format("rings of {} KiB in all were asked for, rings.total allows {} KiB, {} KiB are used",
                         asked >> 10, options.rings_total_bytes >> 10, now >> 10),
             "Raise rings.total."});
    }
    return tuning;
}

std::uint64_t ring_bytes(const Tuning& tuning, std::size_t cpus, std::size_t page_size) {
    return cpus * (tuning.sample_ring_bytes + tuning.side_band_ring_bytes + 2 * page_size);
}

bool halve_rings(Tuning& tuning, std::size_t page_size) {
    const std::uint64_t smallest = kMinRingPages * page_size;
    // The side-band ring first where they are equal: a resync repairs it, lost samples stay lost.
    std::uint64_t& ring =
        tuning.sample_ring_bytes > tuning.side_band_ring_bytes ? tuning.sample_ring_bytes : tuning.side_band_ring_bytes;
    if (ring <= smallest) return false;
    ring /= 2;
    return true;
}

}  // namespace perfvigil::collector
