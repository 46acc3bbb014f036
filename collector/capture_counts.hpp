// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>

namespace perfvigil::collector {

// What a reader met in a capture.
struct CaptureCounts {
    std::uint64_t records = 0;
    std::uint64_t samples = 0;       // SAMPLE records; one of a group is one, whatever it is split into
    std::uint64_t lost_records = 0;  // PERF_RECORD_LOST: how many records
    std::uint64_t lost_events = 0;   // … the sum of their counts
    std::uint64_t lost_samples = 0;  // PERF_RECORD_LOST_SAMPLES
    std::uint64_t malformed = 0;
    std::uint64_t unknown_ids = 0;
    std::uint64_t out_of_order = 0;                  // records that the file's rounds could not put in order
    std::map<std::uint32_t, std::uint64_t> by_type;  // those inside compressed ones included
};

}  // namespace perfvigil::collector
