// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/time.hpp"

#include <ctime>

namespace perfvigil {
namespace {

Nanoseconds read_clock(clockid_t id) {
    timespec ts{};
    ::clock_gettime(id, &ts);
    return std::chrono::seconds(ts.tv_sec) + Nanoseconds(ts.tv_nsec);
}

class SystemClock final : public Clock {
public:
    MonotonicTime monotonic() const override { return MonotonicTime(read_clock(CLOCK_MONOTONIC)); }
    WallTime wall() const override { return WallTime(read_clock(CLOCK_REALTIME)); }
};

}  // namespace

const Clock& system_clock() {
    static const SystemClock clock;
    return clock;
}

}  // namespace perfvigil
