// SPDX-License-Identifier: GPL-2.0-or-later
// A profile with every field set at random, references in range: for round trips and comparisons.
#pragma once

#include <random>

#include "analyzer/profile.hpp"

namespace perfvigil::test {

[[nodiscard]] analyzer::Profile random_profile(std::mt19937_64& random);

}  // namespace perfvigil::test
