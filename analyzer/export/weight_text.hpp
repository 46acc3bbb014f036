// SPDX-License-Identifier: GPL-2.0-or-later
// A weight told to a person: "1.23 s", "45.6 M cycles", "789 events"; and its share of a whole.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] std::string weight_text(WeightUnit unit, std::uint64_t weight);
[[nodiscard]] std::string share_text(std::uint64_t part, std::uint64_t whole);  // "12.34 %"; "-" of nothing

}  // namespace perfvigil::analyzer
