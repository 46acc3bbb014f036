// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon has to do without, from every part that can say so. Each change is logged once, when it happens; the
// whole is there for metrics and status. Any thread may call.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "collector/degraded.hpp"

namespace perfvigil::daemon {

class DegradedSet {
public:
    // Everything that is degraded at `origin` from now on; an empty list: all is well there.
    void set(std::string_view origin, std::vector<collector::Degraded> now);
    void clear(std::string_view origin) { set(origin, {}); }

    [[nodiscard]] std::vector<collector::Degraded> all() const;
    [[nodiscard]] std::vector<collector::Degraded> of(std::string_view origin) const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<collector::Degraded>, std::less<>> by_origin_;
};

}  // namespace perfvigil::daemon
