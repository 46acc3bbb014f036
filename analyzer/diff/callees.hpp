// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that divide their time differently among what they call, though their own totals may be the same: a parent
// whose children changed places.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/diff/side.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct CalleeShift {
    struct Callee {
        std::string name;  // empty: the function's own code
        std::string dso;
        double before = 0;  // share of the function's total
        double after = 0;
    };
    std::string name;
    std::string dso;
    std::uint64_t samples_before = 0;
    std::uint64_t samples_after = 0;
    double rate = 1;              // of false discoveries
    std::vector<Callee> callees;  // the largest change first
};

// `keys` are those of DiffBy::kTotal; `dispersion` says how many times more than sampling a key's total varies.
// Discoveries at `level` only, most evidence first.
struct CalleeQuestion {
    const Profile& profile_before;
    std::uint32_t event_before = 0;
    const Profile& profile_after;
    std::uint32_t event_after = 0;
};
[[nodiscard]] std::vector<CalleeShift> callee_shifts(const CalleeQuestion& question, DiffKeys& keys,
                                                     const std::function<double(std::uint32_t key)>& dispersion,
                                                     double level);

}  // namespace perfvigil::analyzer
