// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/degraded_set.hpp"

#include <algorithm>
#include <utility>

#include "daemon/log.hpp"

namespace perfvigil::daemon {
namespace {

bool has_reason(const std::vector<collector::Degraded>& list, const std::string& reason) {
    return std::ranges::find(list, reason, &collector::Degraded::reason) != list.end();
}

}  // namespace

void DegradedSet::set(std::string_view origin, std::vector<collector::Degraded> now) {
    std::vector<collector::Degraded> before;
    {
        const std::lock_guard lock(mutex_);
        auto& kept = by_origin_[std::string(origin)];
        if (kept == now) return;
        before = std::exchange(kept, now);
    }
    for (const auto& one : now) {
        if (!has_reason(before, one.reason)) {
            log::warning("degraded", {{"reason", one.reason}, {"detail", one.detail}, {"remedy", one.remedy}});
        }
    }
    for (const auto& one : before) {
        if (!has_reason(now, one.reason)) log::info("no longer degraded", {{"reason", one.reason}});
    }
}

std::vector<collector::Degraded> DegradedSet::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<collector::Degraded> all;
    for (const auto& [origin, list] : by_origin_) all.insert(all.end(), list.begin(), list.end());
    return all;
}

std::vector<collector::Degraded> DegradedSet::of(std::string_view origin) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_origin_.find(origin);
    return found == by_origin_.end() ? std::vector<collector::Degraded>{} : found->second;
}

}  // namespace perfvigil::daemon
