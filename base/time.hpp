// SPDX-License-Identifier: GPL-2.0-or-later
// Time that says which clock it is of. Inside the program everything is CLOCK_MONOTONIC; wall time appears only at
// the edges (window ids, reports, file names). Code that needs "now" takes a Clock, so tests own time.
#pragma once

#include <chrono>
#include <cstdint>

namespace perfvigil {

using Nanoseconds = std::chrono::nanoseconds;

// CLOCK_MONOTONIC; in foreign captures the capture's own clock, whatever it was.
struct MonotonicClockTag {
    using duration = Nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<MonotonicClockTag>;
    static constexpr bool is_steady = true;
};
using MonotonicTime = MonotonicClockTag::time_point;
using WallTime = std::chrono::sys_time<Nanoseconds>;

[[nodiscard]] constexpr MonotonicTime monotonic_from_ns(std::uint64_t ns) {
    return MonotonicTime(Nanoseconds(static_cast<std::int64_t>(ns)));
}
[[nodiscard]] constexpr std::uint64_t to_ns(MonotonicTime t) {
    return static_cast<std::uint64_t>(t.time_since_epoch().count());
}
[[nodiscard]] constexpr double to_seconds(Nanoseconds d) { return std::chrono::duration<double>(d).count(); }

class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual MonotonicTime monotonic() const = 0;
    [[nodiscard]] virtual WallTime wall() const = 0;
};

// CLOCK_MONOTONIC and CLOCK_REALTIME of this host.
[[nodiscard]] const Clock& system_clock();

}  // namespace perfvigil
