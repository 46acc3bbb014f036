// SPDX-License-Identifier: GPL-2.0-or-later
// A function as people read it where it has a name: with the source line and the mark of an inlined call, where the
// profile knows them.
#pragma once

#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// "grind", "grind mill.cpp:12 (inlined)"; raw, the caller escapes it.
[[nodiscard]] std::string function_label(const ProfileFunction& function);

}  // namespace perfvigil::analyzer
