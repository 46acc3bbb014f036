// SPDX-License-Identifier: GPL-2.0-or-later
// When slices end: at multiples of their length in wall time, told as CLOCK_MONOTONIC. Notices when wall time was set
// or the machine slept (CLOCK_MONOTONIC stands still in suspend, so both move one clock against the other).
#pragma once

#include <optional>

#include "base/time.hpp"

namespace perfvigil::collector {

class SliceClock {
public:
    struct Due {
        MonotonicTime time{};  // where the slice ends
        WallTime wall{};
        bool stepped = false;
    };

    SliceClock(const Clock& clock, Nanoseconds slice);

    // Whether a cut is due. Its time is the boundary, or now when the boundary was missed by more than kTolerance
    // (we were stopped) or wall time stepped: counters are read now, and a slice is as long as its counters say.
    [[nodiscard]] std::optional<Due> due();
    // A cut was made at `time`: moves on to the next boundary. One that is closer than a tenth of a slice is passed
    // over, so slices are never too short to say anything.
    void cut_made(MonotonicTime time);
    [[nodiscard]] MonotonicTime boundary() const { return boundary_; }
    [[nodiscard]] Due now() const;

    static constexpr Nanoseconds kTolerance = std::chrono::milliseconds(10);  // a tick of 99 Hz
    static constexpr Nanoseconds kStep = std::chrono::milliseconds(50);       // slewing stays far below this

private:
    [[nodiscard]] Nanoseconds wall_minus_monotonic() const;

    const Clock& clock_;
    Nanoseconds slice_;
    Nanoseconds offset_{};  // wall − monotonic at the last cut
    MonotonicTime boundary_{};
    WallTime boundary_wall_{};
};

}  // namespace perfvigil::collector
