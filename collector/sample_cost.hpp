// SPDX-License-Identifier: GPL-2.0-or-later
// What one sample costs inside the kernel: the timer's interrupt, the call chain, the record. Nobody is billed for it
// but the program that was interrupted, so it is measured on one: the same work, timed with and without sampling.
//
//   plain │sampled│sampled│ plain │ plain │sampled│ …   short phases, so that a noisy host spoils few of them;
//    1 ms   1 ms                                        the median over pairs, cost = (sampled − plain) / samples
//
// The work runs hot and is sampled far more often than a recording samples, so caches are warmer than they will be.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/event_kernel.hpp"

namespace perfvigil::collector {

struct SampleCost {
    Nanoseconds value{};
    bool assumed = false;
    std::string why{};  // it is assumed: one sentence
};

// 10 to 20 µs were measured on several machines.
inline constexpr Nanoseconds kAssumedSampleCost = std::chrono::microseconds(15);
// A result outside is not believed.
inline constexpr Nanoseconds kLeastSampleCost = std::chrono::microseconds(5);
inline constexpr Nanoseconds kMostSampleCost = std::chrono::microseconds(50);

[[nodiscard]] SampleCost assumed_sample_cost(std::string why);

// One run of a fixed piece of work on one CPU.
struct WorkPhase {
    Nanoseconds elapsed{};
    std::uint64_t samples = 0;  // taken meanwhile, lost ones included
    bool disturbed = false;     // another task ran in between
};

// Does the work; the seam for tests.
class SampledWork {
public:
    enum class Sampling : std::uint8_t { kOff, kOn };
    virtual ~SampledWork() = default;
    [[nodiscard]] virtual WorkPhase run(Sampling sampling) = 0;
};

// Work of the calling thread, which stays pinned to its CPU as long as this lives.
[[nodiscard]] Result<std::unique_ptr<SampledWork>> make_sampled_work(EventKernel& kernel, const Clock& clock);

// Takes up to `limit` (a second), less where the answer is clear sooner.
[[nodiscard]] SampleCost calibrate_sample_cost(SampledWork& work, const Clock& clock,
                                               Nanoseconds limit = std::chrono::seconds(1));
// The same with this host's kernel; on failure the assumed cost.
[[nodiscard]] SampleCost calibrate_sample_cost(const Clock& clock);

}  // namespace perfvigil::collector
