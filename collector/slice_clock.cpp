// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/slice_clock.hpp"

namespace perfvigil::collector {

SliceClock::SliceClock(const Clock& clock, Nanoseconds slice) : clock_(clock), slice_(slice) {
    cut_made(clock_.monotonic());
}

Nanoseconds SliceClock::wall_minus_monotonic() const {
    // Two reads with a pause between them (preemption, SIGSTOP) would look like a step.
    constexpr int kTries = 8;
    constexpr Nanoseconds kPause = std::chrono::milliseconds(1);
    Nanoseconds offset{};
    for (int i = 0; i < kTries; ++i) {
        const MonotonicTime before = clock_.monotonic();
        offset = clock_.wall().time_since_epoch() - before.time_since_epoch();
        if (clock_.monotonic() - before < kPause) return offset;
    }
    return offset;
}

std::optional<SliceClock::Due> SliceClock::due() {
    const Nanoseconds offset = wall_minus_monotonic();
    const MonotonicTime now = clock_.monotonic();
    const WallTime wall(now.time_since_epoch() + offset);
    const Nanoseconds moved = offset > offset_ ? offset - offset_ : offset_ - offset;
    if (moved > kStep) return Due{now, wall, true};
    if (now < boundary_) return std::nullopt;
    if (now - boundary_ > kTolerance) return Due{now, wall, false};
    return Due{boundary_, boundary_wall_, false};
}

SliceClock::Due SliceClock::now() const {
    const Nanoseconds offset = wall_minus_monotonic();
    const MonotonicTime now = clock_.monotonic();
    return {now, WallTime(now.time_since_epoch() + offset), false};
}

void SliceClock::cut_made(MonotonicTime time) {
    offset_ = wall_minus_monotonic();
    const Nanoseconds wall = time.time_since_epoch() + offset_;
    Nanoseconds next = (wall / slice_ + 1) * slice_;
    if (next - wall < slice_ / 10) next += slice_;
    boundary_wall_ = WallTime(next);
    boundary_ = MonotonicTime(next - offset_);
}

}  // namespace perfvigil::collector
