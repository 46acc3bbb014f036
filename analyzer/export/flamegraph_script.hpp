// SPDX-License-Identifier: GPL-2.0-or-later
// What makes a drawn flame graph move in a browser, and its looks. They know the element's classes alone, which
// flamegraph.cpp writes.
#pragma once

#include <string_view>

namespace perfvigil::analyzer {

inline constexpr double kFlameCharacter = 6.63;  // pixels that a character takes in kFlamegraphStyle's font

extern const std::string_view kFlamegraphStyle;
extern const std::string_view kFlamegraphScript;

}  // namespace perfvigil::analyzer
