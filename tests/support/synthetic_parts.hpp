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
    Nanoseconds period{};
};

struct SyntheticStream::Cpu {
    SyntheticCpu facts;
    bool present = true;
    bool recorded = false;
    MonotonicTime opens_at{};  // while it is not recorded
    EventId clock_id{};
    EventId cycles_id{};
    Rate rate;
    MonotonicTime opened{};
    MonotonicTime last_reading{};
    MonotonicTime next_tick{};
    SyntheticState state = SyntheticState::kIdle;
    MonotonicTime state_until{};
    bool polling = false;  // if it is idle
    std::optional<MonotonicTime> throttled_since;
    std::optional<MonotonicTime> cycles_throttled_since;
    std::uint64_t lost = 0;         // since opened
    std::uint64_t lost_unsaid = 0;  // LOST record still to be written
    Nanoseconds lost_unsaid_time{};
    std::uint64_t cycles_lost = 0;    // since opened
    std::uint64_t cycles = 0;         // since opened
    std::uint64_t sampled_until = 0;  // of them
    std::uint64_t counted_until = 0;
    collector::CpuTimes times;
    SyntheticTruth truth;

    [[nodiscard]] Nanoseconds period() const {
        return Nanoseconds(static_cast<std::int64_t>(1'000'000'000 / rate.hertz));
    }
};

}  // namespace perfvigil::test
