// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/overhead.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace perfvigil::daemon {

Nanoseconds cpu_time_of(pid_t pid) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

OverheadMeter::OverheadMeter(collector::SampleCost cost, TimeOf time_of) : cost_(std::move(cost)), time_of_(time_of) {}

OverheadNumbers OverheadMeter::measure(pid_t child, std::uint64_t samples) {
    if (child != child_) {
        earlier_children_ += std::exchange(child_time_, Nanoseconds{});
        child_ = child;
    }
    // A pid that was given to another process must not take the counter back.
    if (child_ != 0) child_time_ = std::max(child_time_, time_of_(child_));
    return {.processes = time_of_(::getpid()) + earlier_children_ + child_time_,
            .sampling = cost_.value * static_cast<std::int64_t>(samples),
            .cost_per_sample = cost_.value,
            .cost_assumed = cost_.assumed};
}

CpuBudget::Use CpuBudget::use(const OverheadNumbers& numbers, std::size_t cpus, MonotonicTime now) {
    const double processes = to_seconds(numbers.processes - std::exchange(processes_, numbers.processes));
    const double sampling = to_seconds(numbers.sampling - std::exchange(sampling_, numbers.sampling));
    const double host_time = to_seconds(now - std::exchange(at_, now)) * static_cast<double>(cpus);
    if (!std::exchange(known_, true) || host_time <= 0) return {};
    return {std::max(0.0, processes / host_time), std::max(0.0, sampling / host_time)};
}

}  // namespace perfvigil::daemon
