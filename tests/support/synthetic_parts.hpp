// SPDX-License-Identifier: GPL-2.0-or-later
// The inside of SyntheticStream, shared by its two source files.
#pragma once

#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::test {

enum class SyntheticState : std::uint8_t { kUser, kKernel, kSoftirq, kIdle, kIrqInIdle, kStolen };

struct SyntheticStream::Recorded {
    MonotonicTime time{};
    RecordBytes bytes;
    EventId id{};
    std::size_t cpu = 0;
    bool is_clock_sample = false;
    bool idle = false;
    bool irq_in_idle = false;
};

struct SyntheticStream::Cpu {
    SyntheticCpu facts;
    bool online = false;
    EventId clock_id{};
    EventId cycles_id{};
    MonotonicTime opened{};
    MonotonicTime last_reading{};
    MonotonicTime next_tick{};
    SyntheticState state = SyntheticState::kIdle;
    MonotonicTime state_until{};
    std::uint64_t lost = 0;           // since opened
    std::uint64_t lost_unsaid = 0;    // LOST record still to be written
    std::uint64_t cycles = 0;         // since opened
    std::uint64_t sampled_until = 0;  // of them
    std::uint64_t counted_until = 0;
    collector::CpuTimes times;
    SyntheticTruth truth;
};

}  // namespace perfvigil::test
