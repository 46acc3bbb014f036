// SPDX-License-Identifier: GPL-2.0-or-later
// What kind of file begins like this. Pure functions of the first block, for a pipe shows no more before it is read.
#pragma once

#include <string>

#include "analyzer/input/input_format.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

inline constexpr std::size_t kFirstBlock = 256U << 10;

// By magic numbers and the shape of binary kinds; nullopt: it may be a text.
[[nodiscard]] std::optional<InputFormat> recognize_binary(Bytes start);
// By its lines. The error says what it is, where that can be told, else what its first line is.
[[nodiscard]] Result<InputFormat> recognize_text(Bytes start);

}  // namespace perfvigil::analyzer
