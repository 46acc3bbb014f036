// SPDX-License-Identifier: GPL-2.0-or-later
// A clock that stands still until the test moves it.
#pragma once

#include "base/time.hpp"

namespace perfvigil::test {

class ManualClock final : public Clock {
public:
    [[nodiscard]] MonotonicTime monotonic() const override { return monotonic_; }
    [[nodiscard]] WallTime wall() const override { return wall_; }
    void advance(Nanoseconds by) {
        monotonic_ += by;
        wall_ += by;
    }
    void set_wall(WallTime wall) { wall_ = wall; }

private:
    MonotonicTime monotonic_ = monotonic_from_ns(1'000'000'000'000);
    WallTime wall_{std::chrono::seconds(1'700'000'000)};
};

}  // namespace perfvigil::test
