// SPDX-License-Identifier: GPL-2.0-or-later
// What was spent lately, and what that leaves. A budget is kept over any five minutes, not in each slice: what was
// overspent is paid back before the five minutes that hold it are over.
//
//        ◀───── five minutes ─────▶
//   ─────┬─────────────┬───────────┬────▶ time       One such stretch begins with each slice of the past; the dearest
//        │    spent    │ share · H │                 of them decides.
//                     now
//
// Shares are of the host's CPU time. Thread: the sampler.
#pragma once

#include <deque>

namespace perfvigil::daemon {

class Spending {
public:
    static constexpr double kSpan = 300;  // seconds
    // Stretches that end sooner are beyond help: a change of the recording takes two slices to be in force.
    static constexpr double kReach = 30;

    // In order. `spent`: share × seconds. What was spent before recording began has no seconds.
    void add(double seconds, double spent);

    // The mean over the dearest five minutes, if `share` is what profiling takes from now on.
    [[nodiscard]] double dearest(double share) const;
    // What profiling may take from now on so that no five minutes come to more than `mean`: negative where that is too
    // late.
    [[nodiscard]] double affordable(double mean) const;

private:
    struct Stretch {
        double seconds = 0;
        double spent = 0;
    };
    std::deque<Stretch> past_;  // newest last; no more than kSpan seconds
    double seconds_ = 0;        // of them together
};

}  // namespace perfvigil::daemon
