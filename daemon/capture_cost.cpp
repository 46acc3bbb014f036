// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_cost.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "collector/recording_rate.hpp"

namespace perfvigil::daemon {
namespace {

// 2.8 us were measured at 5 kHz on two CPUs, the file included.
constexpr Nanoseconds kOwnPerSample = std::chrono::microseconds(4);
// One copy of 8 KiB, written to the ring and read from it again, compressed, unwound.
constexpr Nanoseconds kOwnPerDump = std::chrono::microseconds(60);
constexpr double kCopyNsPerByte = 0.25;
// kallsyms, and the symbols of what was sampled, measured on a host of two CPUs and some hundred processes.
constexpr Nanoseconds kNames = std::chrono::milliseconds(400);

}  // namespace

CaptureCost predict_cost(const collector::RecordingOptions& recording, const CaptureScope& scope,
                         Nanoseconds sample_cost) {
    auto rate = collector::most_per_cpu(recording);
    const auto hardware = std::ranges::count(recording.events, collector::kTypeHardware, &collector::EventSpec::type);
    const auto others = recording.events.size() - static_cast<std::size_t>(hardware);
    if (!scope.has_pmu && others > 0) rate.samples_per_second = std::uint64_t{recording.tuning.frequency} * others;
    const bool dumps = recording.call_chains == collector::CallChains::kStackDumps;
    const auto at_a_time = scope.threads == 0 ? scope.recorded_cpus : std::min(scope.threads, scope.recorded_cpus);
    const auto host_cpus = static_cast<double>(std::max<std::size_t>(scope.host_cpus, 1));
    CaptureCost cost;
    cost.samples_per_second = static_cast<double>(rate.samples_per_second) * static_cast<double>(at_a_time);
    const double copy = dumps ? kCopyNsPerByte * recording.stack_dump_bytes / 1e9 : 0;
    cost.kernel = cost.samples_per_second * (to_seconds(sample_cost) + copy) / host_cpus;
    cost.own = cost.samples_per_second * to_seconds(dumps ? kOwnPerDump : kOwnPerSample) / host_cpus;
    if (scope.duration > Nanoseconds{}) cost.names = to_seconds(kNames) / (to_seconds(scope.duration) * host_cpus);
    return cost;
}

std::string cost_text(const CaptureCost& cost, std::size_t host_cpus) {
    const auto micros = [&](double share) {
        return cost.samples_per_second > 0 ? 1e6 * share * static_cast<double>(host_cpus) / cost.samples_per_second : 0;
    };
    return fmt::format(
        "up to {:.0f} samples/s of {:.1f} us in the kernel and {:.1f} us here: {:.2f} % of the host's CPU "
        "time, {:.2f} % with the {:.1f} s that names take at its end",
        cost.samples_per_second, micros(cost.kernel), micros(cost.own), 100 * cost.all(), 100 * cost.in_the_end(),
        to_seconds(kNames));
}

}  // namespace perfvigil::daemon
