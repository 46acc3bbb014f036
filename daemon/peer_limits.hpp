// SPDX-License-Identifier: GPL-2.0-or-later
// How often each user may ask: a bucket per uid that holds `burst` requests and is refilled at `per_second`. Bounded:
// users whose bucket is full again are forgotten. Thread: io.
#pragma once

#include <sys/types.h>
#include <cstdint>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/time.hpp"

namespace perfvigil::daemon {

class PeerLimits {
public:
    PeerLimits(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

    // Whether a request of this user is answered now.
    [[nodiscard]] bool admits(uid_t user, MonotonicTime now);
    [[nodiscard]] std::size_t known_users() const { return buckets_.size(); }

private:
    struct Bucket {
        double left = 0;
        MonotonicTime as_of{};
    };
    [[nodiscard]] double left_in(const Bucket& bucket, MonotonicTime now) const;

    double per_second_;
    double burst_;
    boost::unordered_flat_map<uid_t, Bucket> buckets_;
};

}  // namespace perfvigil::daemon
