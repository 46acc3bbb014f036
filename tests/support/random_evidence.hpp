// SPDX-License-Identifier: GPL-2.0-or-later
// Evidence with every field set to something, the same for the same seed.
#pragma once

#include <cstdint>

#include "analyzer/bundle/evidence.hpp"

namespace perfvigil::test {

[[nodiscard]] analyzer::Evidence random_evidence(std::uint64_t seed);

}  // namespace perfvigil::test
