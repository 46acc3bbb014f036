// SPDX-License-Identifier: GPL-2.0-or-later
// What perf_event_open gives on this host, found out by asking: which events open on which CPUs, and whether what opens
// also counts and writes samples. Some kernels open a clock that then stands still (Linux 6.16 and 6.17 in counting
// mode), some hypervisors a counter that never moves; only a trial tells.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/event_kernel.hpp"
#include "collector/recording_options.hpp"

namespace perfvigil::collector {

// One event on every online CPU.
struct EventProbe {
    std::string event;
    std::vector<CpuId> cpus;  // where it was tried
    struct Refusal {
        CpuId cpu{};
        int error_number = 0;
    };
    std::vector<Refusal> refusals;
    // The trial: this thread worked for so long on one CPU; absent where the event could not be opened there.
    struct Trial {
        Nanoseconds worked{};
        std::uint64_t counted = 0;  // clocks: nanoseconds
        std::uint64_t samples = 0;
        std::uint64_t lost = 0;
        std::uint32_t hertz = 0;  // asked for
    };
    std::optional<Trial> trial{};

    [[nodiscard]] bool opens_somewhere() const { return refusals.size() < cpus.size(); }
};

inline constexpr Nanoseconds kTrialLength = std::chrono::milliseconds(100);

// Keeps the calling thread busy for so long; the seam for tests.
using Work = std::function<void(Nanoseconds)>;

// The events of `options` (cycles and cpu-clock unless told otherwise), each tried for kTrialLength of work on one CPU,
// to which the calling thread is pinned meanwhile.
[[nodiscard]] std::vector<EventProbe> probe_events(EventKernel& kernel, const RecordingOptions& options,
                                                   const Clock& clock, const Work& work = {});

}  // namespace perfvigil::collector
