// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyzer/profile/builder.hpp"
#include "base/fd.hpp"

namespace perfvigil::daemon {
namespace {

constexpr std::uint64_t kFewestPeriods = 10;  // a second's worth
constexpr std::uint64_t kOften = 20;          // one in so many
constexpr std::size_t kMostNotes = 10;

}  // namespace

Waits::Waits(std::optional<collector::CgroupMount> cpu_controller, std::string schedstat)
    : throttling_(std::move(cpu_controller)), delays_(std::move(schedstat)) {}

Waits Waits::of_host() {
    const auto mounts = read_file("/proc/self/mountinfo");
    return {mounts ? collector::find_cgroup_mount(*mounts, "cpu") : std::nullopt, "/proc/schedstat"};
}

void Waits::look(MonotonicTime now) {
    units_.clear();
    for (const auto& row : throttling_.read(now)) {
        auto name = analyzer::unit_of_cgroup(row.path).unit;
        if (name.empty()) name = row.path;
        Unit& sum = window_units_[name];
        sum.periods += row.periods;
        sum.throttled_periods += row.throttled_periods;
        sum.throttled += row.throttled;
        units_.push_back({std::move(name), row.throttled_periods, row.throttled});
    }
    for (const auto& row : delays_.since_last()) {
        window_delays_[row.cpu] += row.waited;
        all_delays_[row.cpu] += row.waited;
    }
}

std::vector<collector::RunDelay> Waits::run_delays() const {
    std::vector<collector::RunDelay> rows;
    for (const auto& [cpu, waited] : all_delays_) rows.push_back({cpu, waited});
    return rows;
}

void Waits::close_window(analyzer::Profile& profile) {
    for (auto& cpu : profile.cpus) {
        const auto found = window_delays_.find(cpu.sum.cpu);
        if (found != window_delays_.end()) cpu.run_delay_ns = static_cast<std::uint64_t>(found->second.count());
    }
    window_delays_.clear();

    const auto units = std::exchange(window_units_, {});
    std::vector<std::pair<std::string, Unit>> often;
    for (const auto& [name, unit] : units) {
        if (unit.periods >= kFewestPeriods && unit.throttled_periods * kOften >= unit.periods) {
            often.emplace_back(name, unit);
        }
    }
    std::ranges::stable_sort(often, std::greater{}, [](const auto& row) { return row.second.throttled; });
    if (often.size() > kMostNotes) often.resize(kMostNotes);
    for (const auto& [name, unit] : often) {
        profile.notes.push_back(fmt::format(
            "{} was stopped by its own CPU limit in {} of the {} periods in which it ran, for {:.3f} s over "
            "its run queues; no sample shows that.",
            name, unit.throttled_periods, unit.periods, to_seconds(unit.throttled)));
    }
}

}  // namespace perfvigil::daemon
