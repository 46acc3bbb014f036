// SPDX-License-Identifier: GPL-2.0-or-later
// Samples and their weight, added up.
#pragma once

#include <cstdint>

namespace perfvigil::analyzer {

struct Sum {
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;

    Sum& operator+=(const Sum& more) {
        samples += more.samples;
        weight += more.weight;
        return *this;
    }
    friend Sum operator+(Sum a, const Sum& b) { return a += b; }
    friend bool operator==(const Sum&, const Sum&) = default;
};

}  // namespace perfvigil::analyzer
