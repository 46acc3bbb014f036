// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/hash_index.hpp"

#include <random>

namespace perfvigil::analyzer {

std::uint64_t hash_seed() {
    static const std::uint64_t seed = [] {
        std::random_device device;
        return (static_cast<std::uint64_t>(device()) << 32U) | device();
    }();
    return seed;
}

}  // namespace perfvigil::analyzer
