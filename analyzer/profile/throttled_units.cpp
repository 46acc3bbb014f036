// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/throttled_units.hpp"

#include <algorithm>
#include <utility>

#include "analyzer/profile/builder.hpp"

namespace perfvigil::analyzer {

ProfileThrottledUnit throttled_unit(const collector::CgroupThrottled& cgroup) {
    auto name = unit_of_cgroup(cgroup.path).unit;
    if (name.empty()) name = cgroup.path;
    return {.unit = std::move(name),
            .periods = cgroup.periods,
            .throttled_periods = cgroup.throttled_periods,
            .throttled = cgroup.throttled};
}

void ThrottledUnits::add(const ProfileThrottledUnit& unit) {
    auto& sum = units_[unit.unit];
    sum.periods += unit.periods;
    sum.throttled_periods += unit.throttled_periods;
    sum.throttled += unit.throttled;
}

std::vector<ProfileThrottledUnit> ThrottledUnits::take() {
    std::vector<ProfileThrottledUnit> rows;
    for (auto& [name, sum] : std::exchange(units_, {})) {
        rows.push_back(std::move(sum));
        rows.back().unit = name;
    }
    std::ranges::sort(rows, [](const auto& a, const auto& b) {
        return a.throttled != b.throttled ? a.throttled > b.throttled : a.unit < b.unit;
    });
    if (rows.size() > kMaxThrottledUnits) rows.resize(kMaxThrottledUnits);
    return rows;
}

}  // namespace perfvigil::analyzer
