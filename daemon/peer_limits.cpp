// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/peer_limits.hpp"

#include <algorithm>

namespace perfvigil::daemon {
namespace {

constexpr std::size_t kUsersBeforeSweep = 1024;

}  // namespace

double PeerLimits::left_in(const Bucket& bucket, MonotonicTime now) const {
    return std::min(burst_, bucket.left + per_second_ * to_seconds(std::max(now - bucket.as_of, Nanoseconds{})));
}

bool PeerLimits::admits(uid_t user, MonotonicTime now) {
    if (buckets_.size() >= kUsersBeforeSweep && !buckets_.contains(user)) {
        boost::unordered::erase_if(buckets_, [&](const auto& entry) { return left_in(entry.second, now) >= burst_; });
        // So many users at once ask for nothing good.
        if (buckets_.size() >= kUsersBeforeSweep) return false;
    }
    auto& bucket = buckets_.try_emplace(user, Bucket{burst_, now}).first->second;
    bucket = {left_in(bucket, now), now};
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
}

}  // namespace perfvigil::daemon
