// SPDX-License-Identifier: GPL-2.0-or-later
// What captures on demand take and came to, for the budget, the loss loop and the metrics: written by their threads,
// read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/time.hpp"

namespace perfvigil::daemon {

// Why a capture was made; a literal of the metric captures_total.
enum class CaptureTrigger : std::uint8_t { kRequest, kRule };
inline constexpr std::array<std::string_view, 2> kCaptureTriggerNames{"request", "rule"};

enum class CaptureResult : std::uint8_t {
    kComplete,      // as long as was asked for
    kInterrupted,   // its caller had enough
    kTargetExited,  // the processes ended
    kDisconnected,  // its caller went away, or did not take what came
    kStopped,       // the daemon stops
    kFailed,
    kRefused,
};
inline constexpr std::array<std::string_view, 7> kCaptureResultNames{
    "complete", "interrupted", "target_exited", "disconnected", "stopped", "failed", "refused"};

using CaptureCounts = std::array<std::array<std::uint64_t, kCaptureResultNames.size()>, kCaptureTriggerNames.size()>;

class CaptureUse {
public:
    // Since the daemon's start; CPU time in nanoseconds.
    std::atomic<Nanoseconds::rep> thread_time{0};  // of threads of the daemon
    std::atomic<Nanoseconds::rep> child_time{0};   // of their symbol children
    std::atomic<std::uint64_t> samples{0};         // that the kernel took, lost ones too
    std::atomic<std::uint64_t> ring_bytes{0};      // now

    void count(CaptureTrigger trigger, CaptureResult result) {
        counts_[static_cast<std::size_t>(trigger)][static_cast<std::size_t>(result)].fetch_add(1);
    }
    [[nodiscard]] CaptureCounts counts() const {
        CaptureCounts all{};
        for (std::size_t t = 0; t < counts_.size(); ++t) {
            for (std::size_t r = 0; r < counts_[t].size(); ++r) all[t][r] = counts_[t][r].load();
        }
        return all;
    }

private:
    std::array<std::array<std::atomic<std::uint64_t>, kCaptureResultNames.size()>, kCaptureTriggerNames.size()>
        counts_{};
};

}  // namespace perfvigil::daemon
