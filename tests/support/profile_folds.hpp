// SPDX-License-Identifier: GPL-2.0-or-later
// A Profile as folded stacks, for tests that know what must come out: "comm;outermost;…;innermost" → weight.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::test {

using Folds = std::map<std::string, std::uint64_t>;

[[nodiscard]] Folds folds_of(const analyzer::Profile& profile, std::uint32_t event = 0);
// The same, counting samples instead of weight.
[[nodiscard]] Folds sample_folds_of(const analyzer::Profile& profile, std::uint32_t event = 0);

}  // namespace perfvigil::test
