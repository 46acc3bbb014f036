// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/recording_rate.hpp"

#include <algorithm>
#include <bit>

namespace perfvigil::collector {
namespace {

// Header, identifier, ip, task, time, cpu, period and cgroup.
constexpr std::uint64_t kFixedBytes = 72;
constexpr std::uint64_t kUsualFrames = 24;         // kernel and user
constexpr std::uint64_t kRegistersBytes = 8 * 24;  // abi, values, the dump's two sizes

}  // namespace

RecordingRate most_per_cpu(const RecordingOptions& options) {
    RecordingRate rate;
    rate.sample_bytes = kFixedBytes;
    if (options.call_chains != CallChains::kNone) rate.sample_bytes += 8 * kUsualFrames;
    if (options.call_chains == CallChains::kStackDumps) rate.sample_bytes += kRegistersBytes + options.stack_dump_bytes;
    rate.samples_per_second = std::uint64_t{options.tuning.frequency} * options.events.size();
    return rate;
}

std::uint64_t sample_ring_for(const RecordingOptions& options, std::size_t cpus) {
    const std::uint64_t least = options.tuning.sample_ring_bytes;
    const std::uint64_t share = options.rings_total_bytes / std::max<std::size_t>(cpus, 1);
    const std::uint64_t rest =
        share > options.tuning.side_band_ring_bytes ? share - options.tuning.side_band_ring_bytes : 0;
    const std::uint64_t wanted = std::bit_ceil(std::max(most_per_cpu(options).bytes_per_second(), least));
    return std::max(least, std::min(wanted, std::bit_floor(std::max<std::uint64_t>(rest, 1))));
}

}  // namespace perfvigil::collector
