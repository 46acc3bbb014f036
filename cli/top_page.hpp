// SPDX-License-Identifier: GPL-2.0-or-later
// One screen of a profile: how busy the CPUs were, whether the accounts hold, and what weighed most. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::cli {

// `rows` of functions, and half as many of units; `width` 0: lines are not cut. Foreign names are escaped.
[[nodiscard]] std::string top_page(const analyzer::Profile& profile, std::size_t rows, std::size_t width);

}  // namespace perfvigil::cli
