// SPDX-License-Identifier: GPL-2.0-or-later
// How much data a recording makes at most, before it starts: what each CPU's ring must take between two drains, and
// what the user should know. Idle CPUs and waiting threads make far less.
#pragma once

#include <cstdint>

#include "collector/recording_options.hpp"

namespace perfvigil::collector {

struct RecordingRate {
    std::uint64_t sample_bytes = 0;        // of one sample with a chain of usual depth, its stack dump included
    std::uint64_t samples_per_second = 0;  // per CPU, over all events

    [[nodiscard]] std::uint64_t bytes_per_second() const { return sample_bytes * samples_per_second; }  // per CPU
};
[[nodiscard]] RecordingRate most_per_cpu(const RecordingOptions& options);

// Bytes of a sample ring that holds a second of that: a power of two, at least the default, and for `cpus` rings no
// more than what options.rings_total_bytes leaves.
[[nodiscard]] std::uint64_t sample_ring_for(const RecordingOptions& options, std::size_t cpus);

}  // namespace perfvigil::collector
