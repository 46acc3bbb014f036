// SPDX-License-Identifier: GPL-2.0-or-later
// What a CPU's clock wrote in one slice of five seconds at 99 Hz.
#pragma once

#include <cstdint>

#include "analyzer/slice.hpp"

namespace perfvigil::test {

inline constexpr Nanoseconds kTick{10101010};

// Every tick is delivered: so many of user, kernel and softirq work, the rest of them idle.
inline analyzer::CpuSlice cpu_slice(std::uint32_t cpu, std::uint64_t user, std::uint64_t kernel = 0,
                                    std::uint64_t softirq = 0) {
    using analyzer::Mode;
    constexpr std::uint64_t kDue = 495;
    analyzer::CpuSlice slice;
    slice.cpu = CpuId{cpu};
    slice.clock_recorded = true;
    slice.enabled = kDue * kTick;
    slice.ticks_due = kDue;
    slice.samples = kDue;
    slice.idle_samples = kDue - user - kernel - softirq;
    slice.mode_time[index_of(Mode::kUser)] = user * kTick;
    slice.mode_time[index_of(Mode::kKernel)] = kernel * kTick;
    slice.mode_time[index_of(Mode::kSoftirq)] = softirq * kTick;
    slice.mode_time[index_of(Mode::kIdle)] = slice.idle_samples * kTick;
    return slice;
}

}  // namespace perfvigil::test
