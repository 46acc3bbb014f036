// SPDX-License-Identifier: GPL-2.0-or-later
// Which slices make up a window: those whose middle lies between two multiples of the window's length in wall time.
// Slices themselves end at such multiples only nearly. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.hpp"

namespace perfvigil::daemon {

class WindowClock {
public:
    explicit WindowClock(Nanoseconds window) : window_(window) {}

    // Whether the open window must be closed before this slice is added: slices were missed, or the wall clock jumped.
    [[nodiscard]] bool ends_before(WallTime wall_end, Nanoseconds length) const {
        return open_ && *open_ != index_of(wall_end - half(length));
    }

    // Adds the slice. Whether it is its window's last.
    [[nodiscard]] bool add(WallTime wall_end, Nanoseconds length) {
        open_ = index_of(wall_end - half(length));
        covered_ += length;
        return index_of(wall_end + half(length)) != *open_;
    }

    // The window is closed; whether more than a hundredth of it is missing.
    bool close() {
        open_.reset();
        return std::exchange(covered_, Nanoseconds{}) < window_ - window_ / 100;
    }

private:
    // The first slice after a start may be very short, but boundaries are as blurred as ever.
    static Nanoseconds half(Nanoseconds length) {
        return std::max<Nanoseconds>(length / 2, std::chrono::milliseconds(50));
    }
    [[nodiscard]] std::int64_t index_of(WallTime time) const {
        // Rounded down before 1970 too: captures whose wall time is unknown.
        const auto ns = time.time_since_epoch().count();
        return ns / window_.count() - (ns % window_.count() < 0 ? 1 : 0);
    }

    Nanoseconds window_;
    std::optional<std::int64_t> open_;
    Nanoseconds covered_{};
};

}  // namespace perfvigil::daemon
