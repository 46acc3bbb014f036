// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/spending.hpp"

#include <algorithm>
#include <ranges>

namespace perfvigil::daemon {

void Spending::add(double seconds, double spent) {
    past_.push_back({seconds, spent});
    seconds_ += seconds;
    while (seconds_ > kSpan) {
        seconds_ -= past_.front().seconds;
        past_.pop_front();
    }
}

double Spending::dearest(double share) const {
    double mean = share;
    double seconds = 0;
    double spent = 0;
    for (const Stretch& stretch : past_ | std::views::reverse) {
        seconds += stretch.seconds;
        spent += stretch.spent;
        if (seconds > kSpan - kReach) break;
        mean = std::max(mean, (spent + share * (kSpan - seconds)) / kSpan);
    }
    return mean;
}

double Spending::affordable(double mean) const {
    double share = mean;
    double seconds = 0;
    double spent = 0;
    for (const Stretch& stretch : past_ | std::views::reverse) {
        seconds += stretch.seconds;
        spent += stretch.spent;
        if (seconds > kSpan - kReach) break;
        share = std::min(share, (mean * kSpan - spent) / (kSpan - seconds));
    }
    return share;
}

}  // namespace perfvigil::daemon
