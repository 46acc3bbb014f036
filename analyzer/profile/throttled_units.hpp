// SPDX-License-Identifier: GPL-2.0-or-later
// Units that their own CPU limit stopped, while a profile grows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile.hpp"
#include "collector/waits.hpp"

namespace perfvigil::analyzer {

// Under the name of its unit, without one under its path.
[[nodiscard]] ProfileThrottledUnit throttled_unit(const collector::CgroupThrottled& cgroup);

class ThrottledUnits {
public:
    void add(const ProfileThrottledUnit& unit);
    // Longest first; no more than kMaxThrottledUnits. Empty again.
    [[nodiscard]] std::vector<ProfileThrottledUnit> take();

private:
    boost::unordered_flat_map<std::string, ProfileThrottledUnit> units_;
};

}  // namespace perfvigil::analyzer
