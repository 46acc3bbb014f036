// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/cgroup_throttling.hpp"

#include <algorithm>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

constexpr Nanoseconds kLookInterval = std::chrono::seconds(30);  // for every …
constexpr int kCgroupsPerInterval = 1024;
constexpr std::size_t kMostCgroups = 8192;
constexpr std::size_t kMostFile = 4096;

// "max 100000", or "20000 100000"; v1: "-1", or "20000".
bool has_limit(const std::string& folder) {
    if (const auto v2 = read_file(folder + "/cpu.max", kMostFile)) return !v2->starts_with("max");
    const auto v1 = read_file(folder + "/cpu.cfs_quota_us", kMostFile);
    return v1 && !v1->starts_with('-');
}

}  // namespace

std::optional<ThrottleCounters> parse_cpu_stat(std::string_view text) {
    ThrottleCounters counters;
    bool found = false;
    while (!text.empty()) {
        std::string_view line = next_piece(text, '\n');
        const std::string_view name = next_piece(line, ' ');
        const auto value = parse_number<std::uint64_t>(trim(line));
        if (!value) continue;
        if (name == "nr_periods") {
            counters.periods = *value;
        } else if (name == "nr_throttled") {
            counters.throttled_periods = *value;
            found = true;
        } else if (name == "throttled_usec") {
            counters.throttled = std::chrono::microseconds(*value);
        } else if (name == "throttled_time") {
            counters.throttled = Nanoseconds(static_cast<std::int64_t>(*value));
        }
    }
    return found ? std::optional(counters) : std::nullopt;
}

void CgroupThrottling::look_for_limits() {
    for (auto& [path, limited] : limited_) limited.seen = false;
    const std::string prefix = mount_->root == "/" ? std::string() : mount_->root;
    const bool first = !looked_;
    int cgroups = 0;
    read_cgroups(*mount_, kMostCgroups, [&](CgroupId, std::string_view path) {
        ++cgroups;
        const std::string below(path.starts_with(prefix) ? path.substr(prefix.size()) : path);
        const std::string folder = mount_->mount_point + (below == "/" ? "" : below);
        if (!has_limit(folder)) return;
        auto [at, added] = limited_.try_emplace(std::string(path), Limited{.file = folder + "/cpu.stat", .last = {}});
        at->second.seen = true;
        if (!added || !first) return;
        // It has counted since long before us.
        const auto text = read_file(at->second.file, kMostFile);
        at->second.last = text ? parse_cpu_stat(*text).value_or(ThrottleCounters{}) : ThrottleCounters{};
    });
    boost::unordered::erase_if(limited_, [](const auto& entry) { return !entry.second.seen; });
    next_look_ = kLookInterval * (1 + cgroups / kCgroupsPerInterval);
}

std::vector<CgroupThrottled> CgroupThrottling::read(MonotonicTime now) {
    std::vector<CgroupThrottled> rows;
    if (!mount_) return rows;
    if (!looked_ || now - *looked_ >= next_look_) {
        look_for_limits();
        looked_ = now;
    }
    for (auto& [path, limited] : limited_) {
        const auto text = read_file(limited.file, kMostFile);
        const auto counters = text ? parse_cpu_stat(*text) : std::nullopt;
        if (!counters) continue;
        const ThrottleCounters before = std::exchange(limited.last, *counters);
        // A cgroup that was removed and made again under its name counts from zero.
        const bool anew = counters->periods < before.periods || counters->throttled < before.throttled ||
                          counters->throttled_periods < before.throttled_periods;
        const ThrottleCounters base = anew ? ThrottleCounters{} : before;
        if (counters->periods == base.periods) continue;
        rows.push_back({path, counters->periods - base.periods, counters->throttled_periods - base.throttled_periods,
                        counters->throttled - base.throttled});
    }
    std::ranges::sort(rows, {}, &CgroupThrottled::path);
    return rows;
}

}  // namespace perfvigil::collector
